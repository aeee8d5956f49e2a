"""Requests that may come twice, and make something once: those with an `Idempotency-Key`.

The first request with a key stores it before it works, and its answer afterwards. Another one with the same key and
body gets the same answer, and waits for it while the first one works. A request that is refused makes nothing, and
forgets its key.
"""

import hashlib
import time
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja.decorators import decorate_view

from webapp.api.callers import caller_of
from webapp.api.kept_answers import KEPT_FOR
from webapp.api.models import KeptAnswer
from webapp.capacity import BusyError
from webapp.graphs.incoming import IncomingFile
from webapp.http.user_errors import error_answer

HEADER = "Idempotency-Key"
LONGEST_KEY = 200
LONGEST_WAIT_SECONDS = 20.0
LOOK_EVERY_SECONDS = 0.05
LOST_AFTER = timedelta(minutes=10)
"""a request works for less time; the process of one that has no answer after it was killed"""
TOO_LONG = f"The {HEADER} has {{}} characters; allowed: 1 to {LONGEST_KEY}."
OF_ANOTHER = f"This {HEADER} came with another request in the last 24 hours; allowed: a new key for a new request."
UNDER_WAY = f"The request with this {HEADER} still works. Send it again in a few seconds."

Operation = TypeVar("Operation", bound=Callable[..., Any])
Answering = Callable[..., HttpResponseBase]

MAKING: set[str] = set()
"""names of the operations that take a key"""
WORDS: dict[str, Any] = {
    "in": "header",
    "name": HEADER,
    "description": "The same key and body make one row, and give the same answer for 24 hours.",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
}


def makes_once(operation: Operation) -> Operation:
    """Mark an operation that makes something: with a key it does so once."""
    MAKING.add(operation.__name__)
    return decorate_view(_answered_once)(operation)


def _answered_once(run: Answering) -> Answering:
    def answer(request: HttpRequest, **ids: Any) -> HttpResponseBase:
        key = request.headers.get(HEADER)
        if key is None:
            return run(request, **ids)
        if not 1 <= len(key) <= LONGEST_KEY:
            return error_answer(request, HTTPStatus.BAD_REQUEST, {HEADER: [TOO_LONG.format(len(key))]})
        return _kept(request, key) or _first(request, key, run, ids)

    return answer


def _first(request: HttpRequest, key: str, run: Answering, ids: dict[str, Any]) -> HttpResponseBase:
    """The answer of a request whose key nobody has; of the other one if somebody takes it meanwhile."""
    try:
        with transaction.atomic():
            mine = KeptAnswer.objects.create(**_owner(request, key), request=_digest(request))
    except IntegrityError:
        kept = _kept(request, key)
        if kept is None:
            raise BusyError(UNDER_WAY) from None  # the other request was refused at this moment
        return kept
    try:
        response = run(request, **ids)
    except BaseException:
        mine.delete()
        raise
    if response.status_code >= HTTPStatus.BAD_REQUEST or not isinstance(response, HttpResponse):
        mine.delete()
        return response
    mine.status, mine.location = response.status_code, response.headers.get("Location", "")
    mine.body = response.content.decode("utf-8")
    mine.save(update_fields=["status", "location", "body"])
    return response


def _kept(request: HttpRequest, key: str) -> HttpResponse | None:
    """The answer that is kept; None for a new key. Raises BusyError if the first request works for long."""
    until = time.monotonic() + LONGEST_WAIT_SECONDS
    _forget_lost(request, key)
    asked = ""
    while (kept := KeptAnswer.objects.filter(**_owner(request, key)).first()) is not None:
        asked = asked or _digest(request)
        if kept.request != asked:
            return error_answer(request, HTTPStatus.CONFLICT, {HEADER: [OF_ANOTHER]})
        if kept.status is not None:
            location = {"Location": kept.location} if kept.location else {}
            return HttpResponse(kept.body, status=kept.status, content_type="application/json", headers=location)
        if time.monotonic() > until:
            raise BusyError(UNDER_WAY)
        time.sleep(LOOK_EVERY_SECONDS)
    return None


def _forget_lost(request: HttpRequest, key: str) -> None:
    """Forget a key that is too old, and one whose request was lost with its process."""
    rows = KeptAnswer.objects.filter(**_owner(request, key))
    rows.filter(created_at__lt=Now() - KEPT_FOR).delete()
    rows.filter(created_at__lt=Now() - LOST_AFTER, status=None).delete()


def _owner(request: HttpRequest, key: str) -> dict[str, str]:
    return {"caller": caller_of(request), "key": hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()}


def _digest(request: HttpRequest) -> str:
    """SHA-256 of what is asked: the address, and the body, of a form its fields and files."""
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode("utf-8", "surrogatepass"))
    if request.content_type != "multipart/form-data":
        digest.update(request.body)
        return digest.hexdigest()
    for name, values in sorted(request.POST.lists()):
        digest.update(repr((name, values)).encode("utf-8", "surrogatepass"))
    for name, files in sorted(request.FILES.lists()):
        known = [(file.name, file.content_hash if isinstance(file, IncomingFile) else "") for file in files]
        digest.update(repr((name, known)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
