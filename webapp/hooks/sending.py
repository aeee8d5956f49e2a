"""Sends a delivery: one try a turn of its worker, and after growing waits another."""

import time
import unicodedata
import uuid
from datetime import timedelta

from django.db.models.functions import Now

from engine import api
from webapp.hooks.apprise_post import send_message
from webapp.hooks.bodies import message_of
from webapp.hooks.http_post import HttpAnswer, NotTakenError, post
from webapp.hooks.models import Delivery, Webhook
from webapp.hooks.reachable import AllowedPlaces
from webapp.hooks.signing import secret_of, signature
from webapp.hooks.web_address import WebAddress
from webapp.jobs.claim import ClaimLostError
from webapp.jobs.engine_work import EngineWork, carry_out
from webapp.json_field import JsonTextField

WAITS = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
)
"""after the first, the second … try; after the one that follows the last wait the delivery has failed"""
ANSWER_CHARACTERS = 500
GONE = 410
"""the receiver says that it wants nothing more"""


def send_delivery(delivery_id: uuid.UUID) -> bool:
    """Send it once; False if it cannot be claimed."""
    return carry_out(Delivery, delivery_id, _try)


def _try(work: EngineWork[Delivery]) -> None:
    """One try, which ends the delivery or puts it off."""
    claim = work.claim
    delivery = claim.rows().select_related("webhook").first()
    if delivery is None:
        raise ClaimLostError(str(claim.job_id))
    if not delivery.webhook.is_active:
        claim.end(Delivery.CANCELLED)
        return
    tries = delivery.tries + 1
    try:
        answer = _send(delivery)
    except NotTakenError as error:
        _note_failure(work, tries, str(error), is_final=error.is_final)
    except api.PlacetoError as error:  # the rules are stricter than when the address was stored
        _note_failure(work, tries, f"{error}.", is_final=True)
    else:
        _note_answer(work, tries, answer)


def _send(delivery: Delivery) -> HttpAnswer | None:
    """None: a service has taken a message. Raises NotTakenError, PlacetoError."""
    hook = delivery.webhook
    if hook.kind == Webhook.APPRISE:
        content = JsonTextField().from_db_value(delivery.body)
        assert isinstance(content, dict)
        send_message(hook.target, *message_of(content))
        return None
    address = WebAddress.read(hook.target, AllowedPlaces.of_settings())
    body = delivery.body.encode("ascii")
    return post(address, _headers(delivery, body), body)


def _headers(delivery: Delivery, body: bytes) -> dict[str, str]:
    """No text of a person or a file is in them."""
    timestamp = int(time.time())
    return {
        "Content-Type": "application/json",
        "User-Agent": f"Placeto-Explorer/{api.VERSION}",
        "X-Placeto-Event": delivery.event,
        "X-Placeto-Delivery": str(delivery.id),
        "X-Placeto-Timestamp": str(timestamp),
        "X-Placeto-Signature-256": signature(secret_of(delivery.webhook), timestamp, body),
    }


def _note_answer(work: EngineWork[Delivery], tries: int, answer: HttpAnswer | None) -> None:
    if answer is None:
        work.claim.end(Delivery.DONE, tries=tries, error="", status_code=None, answer="")
        return
    code, words = answer.status_code, shown(answer.beginning)
    if 200 <= code < 300:
        work.claim.end(Delivery.DONE, tries=tries, error="", status_code=code, answer=words)
    else:
        sentence = "It answers with a redirect, which is not followed" if 300 <= code < 400 else "It refuses the body"
        is_final = code == GONE
        _note_failure(work, tries, f"{sentence} (status {code}).", is_final=is_final, status_code=code, answer=words)


def _note_failure(
    work: EngineWork[Delivery],
    tries: int,
    sentence: str,
    *,
    is_final: bool,
    status_code: int | None = None,
    answer: str = "",
) -> None:
    columns = {"tries": tries, "error": sentence, "status_code": status_code, "answer": answer}
    if is_final or tries > len(WAITS):
        work.claim.end(Delivery.FAILED, **columns)
    else:
        work.claim.put_off(next_try_at=Now() + WAITS[tries - 1], **columns)


def shown(answer: bytes) -> str:
    """The beginning of an answer as text, whose control characters are blanks."""
    text = answer.decode("utf-8", "replace")
    return "".join(" " if unicodedata.category(each)[0] == "C" else each for each in text)[:ANSWER_CHARACTERS]
