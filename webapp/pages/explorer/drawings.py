"""What a browser draws of a graph: by itself, with times on the kinds of the catalogue, or of a run, with times on its
devices.
"""

import uuid
from collections.abc import Callable, Hashable

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from engine import api
from webapp.graphs.models import Graph
from webapp.graphs.prepared import prepared_of, view_of
from webapp.http.handler import EXPLAINING, in_threads
from webapp.jobs.shared_texts import SharedTexts
from webapp.json_field import to_text
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.runs.page import run_or_404
from webapp.runs.models import Run
from webapp.runs.sessions import blocks_of, prepared_and_cluster_of, require_explainable, session_of

MOST_LAID_OUT = 5000
"""groups of a graph that are laid out while a person waits: a second or two"""
MOST_SHARED_BYTES = 16 * 1024**2
"""of drawings that several viewers may ask for, and as much of flat ones"""
FOR_A_DAY = "private, max-age=86400, immutable"
"""an event, and the ops of a graph that has been read, never change"""
_drawings: SharedTexts[bytes] = SharedTexts(MOST_SHARED_BYTES)
_flat_views: SharedTexts[bytes] = SharedTexts(MOST_SHARED_BYTES)


@in_threads(EXPLAINING)
@require_safe
def graph_of_run(_request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The grouped graph of a run as it was laid out when it was read, with the groups' times on the run's devices."""
    run = run_or_404(run_id)
    return _drawn(("graph", run_id, run.graph.finished_at), lambda: _view_of_run(run))


def _view_of_run(run: Run) -> dict[str, api.Json]:
    view = view_of(run.graph)
    prepared, cluster = prepared_and_cluster_of(run)
    time_us = prepared.on(cluster.devices).group_time_us()
    for number, group in enumerate(view["groups"]):
        group["time_us"] = {kind: float(times[number]) for kind, times in time_us.items()}
    return view


@in_threads(EXPLAINING)
@require_safe
def drawing(_request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """The grouped graph, laid out by this version: for graphs that an earlier one has read and laid out.

    Raises LimitError for a graph that is too large to be explained, or with too many groups to be laid out here.
    """
    graph = _require_drawable(graph_or_404(graph_id))
    return _drawn(("drawing", graph_id, graph.finished_at), lambda: prepared_of(graph).view())


@in_threads(EXPLAINING)
@require_safe
def drawing_of_run(_request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The same of a run's graph."""
    run = run_or_404(run_id)
    _require_drawable(run.graph)
    return _drawn(("drawing", run_id, run.graph.finished_at), lambda: _on_devices(run).view())


@in_threads(EXPLAINING)
@require_safe
def scope(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """The name scopes and ops of `group` right below the scope `scope`, laid out unless there are too many.

    Raises GraphError where the group has no such scope, LimitError for a graph that is too large to be explained.
    """
    graph, (group, prefix) = graph_or_404(graph_id), _scope_asked(request)
    require_explainable(graph.op_count or 0)
    return _drawn(
        ("scope", graph_id, graph.finished_at, group, prefix), lambda: prepared_of(graph).scope_view(group, prefix)
    )


@in_threads(EXPLAINING)
@require_safe
def scope_of_run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The same of a run's graph."""
    run, (group, prefix) = run_or_404(run_id), _scope_asked(request)
    require_explainable(run.graph.op_count or 0)
    return _drawn(
        ("scope", run_id, run.graph.finished_at, group, prefix), lambda: _on_devices(run).scope_view(group, prefix)
    )


@in_threads(EXPLAINING)
@require_safe
def flat_view(_request: HttpRequest, graph_id: uuid.UUID, of: str) -> HttpResponse:
    """The flat drawing of the graph's `ops` or `groups`, as docs/formats.md describes it.

    Raises LimitError for a graph that is too large to be drawn op by op.
    """
    if of not in ("ops", "groups"):
        raise Http404("A graph has ops and groups.")
    graph = graph_or_404(graph_id)
    api.require_drawable(graph.op_count or 0)
    return _arrays((graph.id, graph.finished_at, of), lambda: api.flat_view_to_bytes(prepared_of(graph), of))


@in_threads(EXPLAINING)
@require_safe
def block(_request: HttpRequest, graph_id: uuid.UUID, number: int) -> HttpResponse:
    """What is right in an opened block of the graph, laid out; 0 is the block around all others.

    Raises GraphError where the graph has no such block, LimitError for a graph that is too large to be explained.
    """
    return _block(graph_or_404(graph_id), number)


@in_threads(EXPLAINING)
@require_safe
def block_of_run(_request: HttpRequest, run_id: uuid.UUID, number: int) -> HttpResponse:
    """The same of a run's graph."""
    return _block(run_or_404(run_id).graph, number)


def _block(graph: Graph, number: int) -> HttpResponse:
    require_explainable(graph.op_count or 0)
    return _drawn(("block", graph.id, graph.finished_at, number), lambda: blocks_of(graph).opened(number))


@in_threads(EXPLAINING)
@require_safe
def ops_of_blocks(_request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """Arrays over ops and edges, of which a browser makes the sums of blocks, as docs/formats.md describes them.

    Raises LimitError for a graph that is too large to be explained.
    """
    graph = graph_or_404(graph_id)
    require_explainable(graph.op_count or 0)
    return _arrays(("blocks", graph_id, graph.finished_at), lambda: blocks_of(graph).ops_to_bytes())


@in_threads(EXPLAINING)
@require_safe
def ops_of_blocks_of_run(_request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """The same of a run's graph, with times on its devices."""
    run = run_or_404(run_id)
    require_explainable(run.graph.op_count or 0)

    def make() -> bytes:
        return blocks_of(run.graph).ops_to_bytes(run.cluster_value.devices)

    return _arrays(("blocks", run_id, run.graph.finished_at), make)


def _on_devices(run: Run) -> api.PreparedGraph:
    session = session_of(run)
    return session.prepared.on(session.cluster.devices)


def _require_drawable(graph: Graph) -> Graph:
    require_explainable(graph.op_count or 0)
    if (graph.group_count or 0) > MOST_LAID_OUT:
        raise api.LimitError(f"{graph.group_count} groups to lay out", allowed=f"at most {MOST_LAID_OUT}")
    return graph


def _scope_asked(request: HttpRequest) -> tuple[int, str]:
    group, prefix = request.GET.get("group", ""), request.GET.get("scope", "")
    if not (group.isascii() and group.isdecimal() and len(group) < 10):
        raise api.GraphError("no number of a group", where="group", allowed="a whole number from 0")
    return int(group), prefix


def _drawn(key: Hashable, make: Callable[[], dict[str, api.Json]]) -> HttpResponse:
    answer = _drawings.get(key)
    if answer is None:
        answer = to_text(make()).encode()
        _drawings.keep(key, answer, len(answer))
    return HttpResponse(answer, content_type="application/json", headers={"Cache-Control": FOR_A_DAY})


def _arrays(key: Hashable, make: Callable[[], bytes]) -> HttpResponse:
    answer = _flat_views.get(key)
    if answer is None:
        answer = make()
        _flat_views.keep(key, answer, len(answer))
    return HttpResponse(answer, content_type="application/octet-stream", headers={"Cache-Control": FOR_A_DAY})
