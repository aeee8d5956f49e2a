"""Comparisons: start, list, show, cancel, rename, delete; their events and files."""

import uuid
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query, Status
from pydantic import BaseModel, ConfigDict, Field

from webapp.access.gate import still_allowed
from webapp.api.answers import ACCEPTED, NOTHING, begun, binary, one_of, out_of
from webapp.api.event_answers import PAGE, STREAM, EventsOut
from webapp.api.form_schemas import FormBody, fields_of, filled
from webapp.api.once import makes_once
from webapp.api.paging import PageOut, PageQuery, page_of_rows
from webapp.api.refusals import conflict, refused
from webapp.api.renaming import NameBody, renamed
from webapp.api.routing import ApiRouter
from webapp.comparisons import lifecycle
from webapp.comparisons.forms import ComparisonForm, preset_name
from webapp.comparisons.models import Comparison
from webapp.comparisons.outcomes import outcome_of
from webapp.comparisons.state import ComparisonEvents, state_of, status_of
from webapp.http.handler import DATA, WAITING, in_threads
from webapp.pages.comparisons.page import comparison_or_404
from webapp.pages.comparisons.views import FIGURE_TYPES, figure, report, table
from webapp.pages.events import event_stream, events_page
from webapp.pages.graphs.page import graph_or_404
from webapp.runs.models import Run

router = ApiRouter(tags=["Comparisons"])

STATUSES = (Run.QUEUED, Run.RUNNING, Run.DONE)
ENDED = "All runs of this comparison had already ended."
FILES = {"comparison.json": report, "comparison.md": table}
FIGURES = {f"comparison{suffix}": suffix for suffix in FIGURE_TYPES}
NO_FILE = "A comparison has no such file; allowed: {}."


class ComparisonStateOut(BaseModel):
    """How far a comparison is, with one row for each method."""

    model_config = ConfigDict(extra="allow")

    total: int = Field(description="Runs.")
    ended: int
    running: int
    one_device_us: float | None
    lower_bound_us: float | None
    methods: list[dict[str, Any]]


class ComparisonOut(BaseModel):
    """Several methods on one graph and cluster."""

    id: uuid.UUID
    graph_id: uuid.UUID
    project_id: uuid.UUID
    name: str = Field(description="That a person gave it; empty without one.")
    title: str
    methods: list[str]
    seeds: int
    evaluations: int = Field(description="Of each run.")
    seconds: float | None
    cluster: dict[str, Any] = Field(description="Cluster JSON.")
    settings: dict[str, dict[str, Any]] = Field(description="Of methods, where they differ from the usual ones.")
    drop_devices: bool
    stream: dict[str, Any] | None
    constraints: list[Any]
    policy_id: uuid.UUID | None
    policy_name: str
    created_at: datetime


class WholeComparisonOut(ComparisonOut):
    """A comparison with its runs and its state."""

    status: str = Field(json_schema_extra=one_of(STATUSES))
    run_ids: list[uuid.UUID]
    state: ComparisonStateOut


class ComparisonPage(PageOut[ComparisonOut]):
    """A page of comparisons, newest first."""


@fields_of(ComparisonForm, required=("cluster", "methods"))
class ComparisonBody(FormBody):
    """Devices, objective, methods, policy, seeds, budget, rules."""

    presets: dict[str, str] = Field(default_factory=dict, description="Method → its preset.")


def _known(comparison: Comparison) -> dict[str, Any]:
    return {"title": str(comparison), "constraints": comparison.constraints or []}


def _listed(comparison: Comparison) -> ComparisonOut:
    return out_of(ComparisonOut, comparison, **_known(comparison))


def comparison_out(comparison: Comparison) -> WholeComparisonOut:
    """The comparison as an answer."""
    runs = lifecycle.runs_of(comparison)
    state = ComparisonStateOut.model_validate(state_of(runs, [outcome_of(run) for run in runs]))
    found = {"status": status_of(runs), "run_ids": [run.id for run in runs], "state": state}
    return out_of(WholeComparisonOut, comparison, **_known(comparison), **found)


@router.get("/graphs/{uuid:graph_id}/comparisons", response=ComparisonPage)
def list_comparisons(request: HttpRequest, graph_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the comparisons on a graph, newest first."""
    rows = graph_or_404(graph_id).comparisons.select_related("graph").defer("graph__summary")
    return page_of_rows(rows, query, _listed)


@router.post("/graphs/{uuid:graph_id}/comparisons", response={ACCEPTED: WholeComparisonOut})
@makes_once
def start_comparison(
    request: HttpRequest, graph_id: uuid.UUID, body: ComparisonBody, response: HttpResponse
) -> Status[WholeComparisonOut]:
    """Start a comparison: a run of each method with each seed."""
    graph = graph_or_404(graph_id)
    presets = {preset_name(method): preset for method, preset in body.presets.items()}
    form = filled(ComparisonForm, body, presets, left_out=("presets",), graph=graph)
    form.require_placeable(graph, form.request)
    if form.errors:
        raise refused(form)
    comparison = lifecycle.start(graph, form.request, form.policy_row)
    return begun(response, "show_comparison", comparison.id, comparison_out(comparison))


@router.get("/comparisons/{uuid:comparison_id}", response=WholeComparisonOut)
def show_comparison(request: HttpRequest, comparison_id: uuid.UUID) -> WholeComparisonOut:
    """Show a comparison, and how far it is."""
    return comparison_out(comparison_or_404(comparison_id))


@router.patch("/comparisons/{uuid:comparison_id}", response=WholeComparisonOut)
def change_comparison(request: HttpRequest, comparison_id: uuid.UUID, body: NameBody) -> WholeComparisonOut:
    """Rename a comparison; an empty name leaves it without one."""
    renamed(comparison_or_404(comparison_id), body, may_be_empty=True)
    return comparison_out(comparison_or_404(comparison_id))


@router.delete("/comparisons/{uuid:comparison_id}", response={NOTHING: None})
def delete_comparison(request: HttpRequest, comparison_id: uuid.UUID) -> Status[None]:
    """Delete a comparison and its runs; workers notice and stop."""
    lifecycle.delete(comparison_or_404(comparison_id))
    return Status(NOTHING, None)


@router.post("/comparisons/{uuid:comparison_id}/cancel", response={ACCEPTED: WholeComparisonOut})
def cancel_comparison(
    request: HttpRequest, comparison_id: uuid.UUID, response: HttpResponse
) -> Status[WholeComparisonOut]:
    """Cancel all runs of a comparison; their answers so far are kept."""
    comparison = comparison_or_404(comparison_id)
    if not lifecycle.cancel(comparison):
        raise conflict(ENDED)
    return begun(response, "show_comparison", comparison_id, comparison_out(comparison))


@router.get("/comparisons/{uuid:comparison_id}/events", response=EventsOut, openapi_extra=PAGE)
@in_threads(DATA)
def events_of_comparison(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponseBase:
    """Show the state as the one event of a comparison, if it is not that of `after`."""
    return events_page(request, ComparisonEvents(comparison_id))


@router.get("/comparisons/{uuid:comparison_id}/events/stream", openapi_extra=STREAM)
async def stream_of_comparison(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponseBase:
    """Stream the state of a comparison as server-sent events, until all runs have ended."""
    return await event_stream(request, ComparisonEvents(comparison_id), still_allowed(request))


@router.get(
    "/comparisons/{uuid:comparison_id}/files/{name}",
    openapi_extra=binary("application/json", "text/markdown", *FIGURE_TYPES.values()),
)
@in_threads(WAITING)
def file_of_comparison(request: HttpRequest, comparison_id: uuid.UUID, name: str) -> HttpResponseBase:
    """Give the report, the table or a figure: `comparison.json`, `.md`, `.svg` or `.png`."""
    comparison_or_404(comparison_id)
    if name in FILES:
        return FILES[name](request, comparison_id)
    if name in FIGURES:
        return figure(request, comparison_id, FIGURES[name])
    raise Http404(NO_FILE.format(", ".join([*FILES, *FIGURES])))
