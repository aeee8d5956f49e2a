"""Why the placement of an event takes as long as it does: what a browser draws of it."""

import json
import uuid

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from engine import api
from webapp.graphs.models import Graph, PreparedBlob
from webapp.handler import EXPLAINING, in_threads
from webapp.jobs.models import Event
from webapp.jobs.shared_texts import SharedTexts
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.runs.page import run_or_404
from webapp.runs.sessions import require_explainable, session_of

MOST_SHARED_BYTES = 16 * 1024**2
"""of explanations that several viewers of a run may ask for"""
_answers: SharedTexts[bytes] = SharedTexts(MOST_SHARED_BYTES)

FOR_A_DAY = "private, max-age=86400, immutable"
"""an event, and the ops of a graph that has been read, never change"""


@in_threads(EXPLAINING)
@require_safe
def explanation(request: HttpRequest, run_id: uuid.UUID, seq: int) -> HttpResponse:
    """The explanation of the placement of event `seq`, as docs/formats.md describes it."""
    run = run_or_404(run_id)
    answer = _answers.get((run_id, seq))
    if answer is None:
        device_of_group = _device_of_group(run.id, seq)
        session = session_of(run)
        answer = api.explanation_to_bytes(session, session.explain(session.by_group(device_of_group)))
        _answers.keep((run_id, seq), answer, len(answer))
    return HttpResponse(
        answer,
        content_type="application/octet-stream",
        headers={"Cache-Control": FOR_A_DAY},
    )


@in_threads(EXPLAINING)
@require_safe
def ops(request: HttpRequest, graph_id: uuid.UUID) -> JsonResponse:
    """Names, types and groups of the ops, in the order in which an explanation counts them.

    Raises LimitError for a graph that is too large to be explained.
    """
    prepared = _prepared(graph_or_404(graph_id))
    return JsonResponse(
        {
            "names": prepared.graph.op_names,
            "types": prepared.graph.op_types,
            "groups": prepared.grouping.group_of_op.tolist(),
        },
        headers={"Cache-Control": FOR_A_DAY},
        json_dumps_params={"ensure_ascii": False, "separators": (",", ":")},
    )


def _prepared(graph: Graph) -> api.PreparedGraph:
    require_explainable(graph.op_count or 0)
    blob = PreparedBlob.objects.filter(graph=graph).values_list("blob", flat=True).first()
    if blob is None:
        raise Http404("This graph has not been read yet.")
    return api.PreparedGraph.from_bytes(bytes(blob))


def _device_of_group(run_id: uuid.UUID, seq: int) -> list[int]:
    """[groups] the placement of an episode, a baseline or an answer. Raises Http404 where there is none."""
    text = Event.objects.filter(job_id=run_id, seq=seq).values_list("data", flat=True).first()
    if text is None:
        raise Http404("This run has no such event, or it was removed when the run was thinned.")
    event = json.loads(text)
    placement = event["report"]["device_of_group"] if event["type"] == "finished" else event.get("placement")
    if placement is None:
        raise Http404("This event has no placement.")
    return [int(device) for device in placement]
