"""The decisions of a run's policy inside one episode, computed again from the policy that the run has kept."""

import json
import uuid
from collections.abc import Mapping

import numpy as np
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from numpy.typing import NDArray

from engine import api
from webapp.http.handler import EXPLAINING, in_threads
from webapp.jobs.models import Event
from webapp.jobs.shared_texts import SharedTexts
from webapp.pages.runs.page import run_or_404
from webapp.runs.models import KeptPolicy, Run
from webapp.runs.sessions import session_of

MOST_SHARED_BYTES = 4 * 1024**2
"""of answers that several viewers may ask for"""
DECIMALS = 5
_answers: SharedTexts[bytes] = SharedTexts(MOST_SHARED_BYTES)

NOT_ENDED = "The policy still learns; its decisions can be shown once the run has ended."
LONG_AGO = "This run ended long ago; its policy was deleted since, to free the disk."
OTHER_METHOD = "Only Placeto’s policy places one group after the other in a way that can be computed again here."
NONE_KEPT = (
    "This run kept no policy: it ended before it learned, it is older than this version, or its policy was too large."
)


@in_threads(EXPLAINING)
@require_safe
def decisions(request: HttpRequest, run_id: uuid.UUID, seq: int) -> HttpResponse:
    """The decisions of the episode of event `seq`, or why they cannot be shown; docs/formats.md describes both.

    `from` is the event of the placement that the episode most likely began with.
    """
    run = run_or_404(run_id)
    start_seq = request.GET.get("from", "")
    start_seq = start_seq if start_seq.isascii() and start_seq.isdigit() and len(start_seq) < 18 else ""
    episode = _event(run.id, seq)
    if episode["type"] != api.Episode.type:
        raise Http404("This event is no episode.")
    key = (run.id, seq, start_seq)
    answer = _answers.get(key)
    if answer is None:
        policy = _policy_of(run, _number(episode))
        if isinstance(policy, str):
            refusal = {"episode": _number(episode), "obstacle": policy}
            return JsonResponse(refusal, headers={"Cache-Control": "no-store"})
        answer = _computed(run, policy, episode, int(start_seq) if start_seq else None)
        _answers.keep(key, answer, len(answer))
    return HttpResponse(answer, content_type="application/json", headers={"Cache-Control": "private, max-age=3600"})


def _policy_of(run: Run, episode: int) -> api.KeptPolicy | str:
    """The policy that `run` has kept, or in a sentence why the decisions of that episode cannot be shown."""
    if run.method != "placeto":
        return OTHER_METHOD
    if not run.has_ended:
        return NOT_ENDED
    blob = KeptPolicy.objects.filter(run=run.id).values_list("policy", flat=True).first()
    if blob is None:
        return NONE_KEPT if run.kept_events is None else LONG_AGO
    try:
        policy = api.KeptPolicy.from_bytes(bytes(blob))
    except api.SettingsError:
        return NONE_KEPT
    return api.obstacle(policy, episode) or policy


def _computed(run: Run, policy: api.KeptPolicy, episode: Mapping[str, api.Json], start_seq: int | None) -> bytes:
    session = session_of(run)

    def best_before() -> NDArray[np.int32] | None:
        return None if start_seq is None else _placement(session, _event(run.id, start_seq))

    number = _number(episode)
    found = session.decisions(policy, number, _placement(session, episode), best_before)
    answer = {
        "episode": number,
        "is_exact": found.is_exact,
        "explore": found.explore,
        "start": found.start.tolist(),
        "order": found.order.tolist(),
        "chosen": found.chosen.tolist(),
        "probabilities": found.probabilities.round(DECIMALS).tolist(),
    }
    return json.dumps(answer, separators=(",", ":")).encode()


def _number(episode: Mapping[str, api.Json]) -> int:
    number = episode["episode"]
    assert isinstance(number, int)
    return number


def _event(run_id: uuid.UUID, seq: int) -> dict[str, api.Json]:
    text = Event.objects.filter(job_id=run_id, seq=seq).values_list("data", flat=True).first()
    if text is None:
        raise Http404("This run has no such event; a run that ended long ago is thinned.")
    content: dict[str, api.Json] = json.loads(text)
    return content


def _placement(session: api.Session, event: Mapping[str, api.Json]) -> NDArray[np.int32]:
    placement = event.get("placement")
    if not isinstance(placement, list):
        raise Http404("This event has no placement.")
    return session.by_group([device for device in placement if isinstance(device, int)]).device_of_group
