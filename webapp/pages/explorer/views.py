"""Why the placement of an event takes as long as it does: what a browser draws of it."""

import json
import math
import uuid
from enum import Enum

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from engine import api
from webapp.access.marks import needs
from webapp.graphs.prepared import prepared_of
from webapp.http.handler import EXPLAINING, in_threads
from webapp.http.user_errors import row_or_404
from webapp.jobs.models import Event
from webapp.jobs.shared_texts import SharedTexts
from webapp.json_field import to_text
from webapp.pages.compressed import answer_of, compressed, large_answer, takes_gzip
from webapp.pages.events import LARGEST_SEQ, integer_in_address
from webapp.pages.explorer.drawings import FOR_A_DAY
from webapp.pages.explorer.others import other_answer_or_404
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.placements.page import placement_or_404
from webapp.pages.runs.downloads import NO_SIMPLEST
from webapp.pages.runs.page import run_or_404
from webapp.placements.keeping import belongs_to, given_of
from webapp.placements.models import Placement
from webapp.projects.access import Role
from webapp.runs.models import Answer, Run
from webapp.runs.sessions import require_explainable, session_of

MOST_WORK = 200_000_000
"""simulated ops and edges that a page may ask for at once: some seconds"""
MOST_SHARED_BYTES = 16 * 1024**2
"""of explanations that several viewers may ask for"""
_answers: SharedTexts[bytes] = SharedTexts(MOST_SHARED_BYTES)


@in_threads(EXPLAINING)
@require_safe
def explanation(request: HttpRequest, run_id: uuid.UUID, seq: int) -> HttpResponse:
    """The explanation of the placement of event `seq`, as docs/formats.md describes it."""
    run = run_or_404(run_id)
    key = run_id, seq, takes_gzip(request)
    answer = _answers.get(key)
    if answer is None:
        placement = placement_at(run.id, seq)
        session = session_of(run)
        answer = api.explanation_to_bytes(session, session.explain(session.by_levels(placement)))
        answer = compressed(answer) if takes_gzip(request) else answer
        _answers.keep(key, answer, len(answer))
    response = answer_of(answer, "application/octet-stream")
    response["Cache-Control"] = FOR_A_DAY
    return response


@in_threads(EXPLAINING)
@require_safe
@never_cache
def stream_blocks(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The batch of the answer of a run for a stream, as docs/formats/explanations.md describes it. Raises Http404."""
    run = run_or_404(run_id)
    answer = Answer.objects.filter(run=run).first()
    if run.stream is None or answer is None:
        raise Http404("This run has no batch: it is for the time of one step, or has found no placement.")
    session = session_of(run)
    blocks = session.stream_blocks(session.by_levels(answer.placement), api.Stream.from_json(run.stream))
    return large_answer(request, to_text(blocks).encode(), "application/json")


@needs(Role.VIEWER)
@in_threads(EXPLAINING)
@require_POST
def step(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The explanation of a placement by hand on the run's graph and cluster, as `hand_made` reads it.

    `moved`, optional, lists the groups that a person has moved: they have to be where a run may put them, and to keep
    the run's constraints.
    """
    run = run_or_404(run_id)
    session = session_of(run)
    placement = hand_made(session, run, request)
    if "moved" in request.POST:
        session.require_moves_allowed(placement, integers(request, "moved"))
    explained = session.explain(placement)
    response = large_answer(request, api.explanation_to_bytes(session, explained), "application/octet-stream")
    response["Cache-Control"] = "no-store"
    return response


@needs(Role.VIEWER)
@in_threads(EXPLAINING)
@require_POST
def gains(request: HttpRequest, run_id: uuid.UUID) -> JsonResponse:
    """The step after each single move of `groups` from `placement`, both JSON lists, by group and device.

    Without `groups`: of all, or of the largest ones if all would be more work than a page may ask for. `to`, a list
    of devices, asks for one move of each group; `together` moves them all at once, and the answer has one row. Null
    where the group may not go, or that was not asked. Raises LimitError for more work than a page may ask for.
    """
    run = run_or_404(run_id)
    session = session_of(run)
    placement = hand_made(session, run, request)
    groups = integers(request, "groups") if "groups" in request.POST else None
    if "together" in request.POST:
        asked = session.largest_groups(most_moves(session, None)) if groups is None else groups
        return JsonResponse(gains_to_json(asked, session.joint_gains(placement, asked)))
    to = integers(request, "to") if "to" in request.POST else None
    return JsonResponse(gains_of_moves(session, placement, groups, to))


def gains_of_moves(
    session: api.Session, placement: api.GivenPlacement, groups: list[int] | None, to: list[int] | None
) -> dict[str, api.Json]:
    """The step after each single move, as `gains` answers it. Raises LimitError, PlacementError."""
    most = most_moves(session, to)
    asked = session.largest_groups(most) if groups is None else groups
    if len(asked) > most:
        raise api.LimitError(f"{len(asked)} groups at once", allowed=f"{most} of this graph")
    return gains_to_json(asked, session.gains(placement, asked, to))


def most_moves(session: api.Session, to: list[int] | None) -> int:
    """How many groups may be asked for at once."""
    return max(1, session.most_moves(MOST_WORK) // (1 if to is not None else session.cluster.device_count))


def gains_to_json(groups: list[int], found: api.Gains) -> dict[str, api.Json]:
    """For scripts: null where the group may not go, or that was not asked."""
    times: list[api.Json] = [[None if math.isnan(us) else us for us in row] for row in found.step_time_us.tolist()]
    return {"groups": [*groups], "step_time_us": times, "missing_bytes": found.missing_bytes.tolist()}


def hand_made(session: api.Session, run: Run, request: HttpRequest) -> api.GivenPlacement:
    """The placement that a request sends for `run`: the fields `placement`, JSON [groups], and `base`.

    Raises PlacementError, Http404.
    """
    return made_by_hand(session, run, integers(request, "placement"), request.POST.get("base", ""))


def made_by_hand(session: api.Session, run: Run, placement: list[int], base: str) -> api.GivenPlacement:
    """The placement [groups] for `run`.

    −1 stands for the devices of the group's parts in `base`, as `base_in` reads it: a kept placement on the same graph
    and cluster, an event of the run, or the best of another run on them. Raises PlacementError, Http404.
    """
    return session.by_group(placement, _devices_of_base(session, run, base) if api.SPLIT in placement else None)


class BaseKind(Enum):
    """What a placement by hand can be made of."""

    EVENT = "event"
    RUN = "run"
    KEPT = "kept"
    SIMPLEST = "simplest"


def base_of(request: HttpRequest) -> tuple[BaseKind, str] | None:
    """What the field `base` names: see `base_in`."""
    return base_in(request.POST.get("base", ""))


def base_in(base: str) -> tuple[BaseKind, str] | None:
    """`event-SEQ`, `run-ID`, `simplest`, or the id of a kept placement; its number or id. None without one."""
    if base == BaseKind.SIMPLEST.value:
        return BaseKind.SIMPLEST, ""
    for kind in (BaseKind.EVENT, BaseKind.RUN):
        if base.startswith(f"{kind.value}-"):
            return kind, base.removeprefix(f"{kind.value}-")
    return (BaseKind.KEPT, base) if base else None


def _devices_of_base(session: api.Session, run: Run, text: str) -> api.GivenPlacement | None:
    base = base_in(text)
    if base is None:
        return None
    kind, name = base
    if kind is BaseKind.EVENT:
        return session.by_levels(placement_at(run.id, integer_in_address("base", name, lowest=1, highest=LARGEST_SEQ)))
    if kind is BaseKind.SIMPLEST:
        return session.by_levels(_simplest_or_404(run))
    if kind is BaseKind.RUN:
        other = row_or_404(Run.objects.filter(graph=run.graph_id), name, "run")
        return session.by_levels(other_answer_or_404(run, other.id).placement)
    return given_of(kept_of(run, name))


def _simplest_or_404(run: Run) -> api.SplitPlacement:
    answer = Answer.objects.filter(run=run).first()
    if answer is None or answer.simplest is None:
        raise Http404(NO_SIMPLEST)
    return answer.simplest


def kept_of(run: Run, placement_id: str) -> Placement:
    """A kept placement of the run's graph on its cluster. Raises PlacementError for another one of its project,
    Http404.
    """
    kept = placement_or_404(placement_id, run.project_id)
    if not belongs_to(kept, run):
        allowed = "a placement of this graph on this cluster"
        raise api.PlacementError("it is of another graph or cluster", where="base", allowed=allowed)
    return kept


def integers(request: HttpRequest, name: str) -> list[int]:
    """A field that holds a JSON list of integers. Raises PlacementError."""
    try:
        values = json.loads(request.POST.get(name, ""))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(type(value) is int and abs(value) < 2**31 for value in values):
        raise api.PlacementError("no list of integers", where=name, allowed="JSON, such as [0, 1, 0]")
    return values


@in_threads(EXPLAINING)
@require_safe
def ops(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """Names, short names, types and groups of the ops, in the order in which an explanation counts them.

    Raises LimitError for a graph that is too large to be explained.
    """
    graph = graph_or_404(graph_id)
    require_explainable(graph.op_count or 0)
    prepared = prepared_of(graph)
    content = {
        "names": prepared.graph.op_names,
        "short_names": prepared.short_names().of_op,
        "types": prepared.graph.op_types,
        "groups": prepared.grouping.group_of_op.tolist(),
    }
    response = large_answer(request, to_text(content).encode(), "application/json")
    response["Cache-Control"] = FOR_A_DAY
    return response


@in_threads(EXPLAINING)
@require_safe
def costs(request: HttpRequest, graph_id: uuid.UUID) -> JsonResponse:
    """Where the costs of each op are from, which ops no GPU runs, and the ops' groups.

    Raises LimitError for a graph that is too large to be explained.
    """
    graph = graph_or_404(graph_id)
    require_explainable(graph.op_count or 0)
    prepared = prepared_of(graph)
    return JsonResponse(
        {
            "sources": [source.name.lower() for source in api.CostSource],
            "source": prepared.costs.source.tolist(),
            "cpu_only": [op for op, reason in enumerate(prepared.graph.cpu_reason) if reason],
            "groups": prepared.grouping.group_of_op.tolist(),
        },
        headers={"Cache-Control": FOR_A_DAY},
        json_dumps_params={"separators": (",", ":")},
    )


def placement_at(run_id: uuid.UUID, seq: int) -> api.SplitPlacement:
    """The placement of an episode, a baseline or an answer. Raises Http404 where there is none."""
    text = Event.objects.filter(job_id=run_id, seq=seq).values_list("data", flat=True).first()
    if text is None:
        raise Http404("This run has no such event, or it was removed when the run was thinned.")
    event = json.loads(text)
    if event["type"] == "finished":
        return api.placement_of_report(event["report"])
    if event.get("placement") is None:
        raise Http404("This event has no placement.")
    return api.SplitPlacement.from_json(event["placement"], event.get("parts"))
