"""Searches for plans: start, list, show, cancel, rename, delete; their events, reports and replicas."""

import uuid
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query, Status
from pydantic import BaseModel, ConfigDict, Field

from webapp.access.gate import still_allowed
from webapp.api.answers import ACCEPTED, NOTHING, begun, one_of, out_of
from webapp.api.event_answers import PAGE, STREAM, EventsOut
from webapp.api.form_schemas import FormBody, fields_of, filled
from webapp.api.once import makes_once
from webapp.api.operations.runs import RunOut, run_out
from webapp.api.paging import PageOut, PageQuery, page_of_rows
from webapp.api.refusals import conflict
from webapp.api.renaming import NameBody, renamed
from webapp.api.routing import ApiRouter
from webapp.capacity import a_slot_to_explain
from webapp.http.handler import DATA, in_threads
from webapp.jobs import deletion
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.jobs.stream import JobEvents
from webapp.pages.events import event_stream, events_page
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.plans.page import report_of, search_or_404
from webapp.pages.plans.views import ReplicaForm, report
from webapp.pages.runs.page import run_or_404
from webapp.plans import lifecycle
from webapp.plans.forms import PlanForm
from webapp.plans.models import PlanSearch
from webapp.plans.opening import NO_PLAN, run_of_replica

router = ApiRouter(tags=["Plans"])

STATUSES = (PlanSearch.QUEUED, PlanSearch.RUNNING, PlanSearch.DONE, PlanSearch.FAILED, PlanSearch.CANCELLED)
ENDED = "This search had already ended."


class SearchOut(BaseModel):
    """A search for the plans of a batch of one graph on one cluster."""

    id: uuid.UUID
    graph_id: uuid.UUID
    project_id: uuid.UUID
    name: str = Field(description="That a person gave it; empty without one.")
    title: str
    status: str = Field(json_schema_extra=one_of(STATUSES))
    error: str = Field(description="One sentence; empty without an error.")
    cancel_requested: bool
    second_id: uuid.UUID | None = Field(description="The same step read at another batch.")
    second_name: str
    batch: int = Field(description="Samples, of all replicas together.")
    seconds: float = Field(description="The budget of wall time.")
    rules: dict[str, Any]
    cluster: dict[str, Any] = Field(description="Cluster JSON.")
    drop_devices: bool
    best_batch_us: float | None = Field(description="Of the fastest plan so far.")
    last_seq: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class SearchPage(PageOut[SearchOut]):
    """A page of searches for plans, newest first."""


class PlansReportOut(BaseModel):
    """The report of a search; docs/formats/plans.md describes it."""

    model_config = ConfigDict(extra="allow")

    plans: list[dict[str, Any]]


@fields_of(PlanForm, required=("cluster", "batch"))
class SearchBody(FormBody):
    """Second reading, devices, batch, seconds, rules."""


@fields_of(ReplicaForm, required=("plan", "replica"))
class ReplicaBody(FormBody):
    """A replica of a plan."""


def search_out(search: PlanSearch) -> SearchOut:
    """The search as an answer."""
    return out_of(SearchOut, search, title=str(search), rules=search.plan_rules)


@router.get("/graphs/{uuid:graph_id}/plans", response=SearchPage)
def list_searches(request: HttpRequest, graph_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the searches for plans of a graph, newest first."""
    rows = graph_or_404(graph_id).plan_searches.select_related("graph").defer("graph__summary")
    return page_of_rows(rows, query, search_out)


@router.post("/graphs/{uuid:graph_id}/plans", response={ACCEPTED: SearchOut})
@makes_once
def start_search(
    request: HttpRequest, graph_id: uuid.UUID, body: SearchBody, response: HttpResponse
) -> Status[SearchOut]:
    """Start a search for plans."""
    graph = graph_or_404(graph_id)
    form = filled(PlanForm, body, graph=graph)
    search = lifecycle.start(graph, form.second_row, form.request)
    return begun(response, "show_search", search.id, search_out(search_or_404(search.id)))


@router.get("/plans/{uuid:search_id}", response=SearchOut)
def show_search(request: HttpRequest, search_id: uuid.UUID) -> SearchOut:
    """Show a search for plans, and how far it is."""
    return search_out(search_or_404(search_id))


@router.patch("/plans/{uuid:search_id}", response=SearchOut)
def change_search(request: HttpRequest, search_id: uuid.UUID, body: NameBody) -> SearchOut:
    """Rename a search; an empty name leaves it without one."""
    renamed(search_or_404(search_id), body, may_be_empty=True)
    return search_out(search_or_404(search_id))


@router.delete("/plans/{uuid:search_id}", response={NOTHING: None})
def delete_search(request: HttpRequest, search_id: uuid.UUID) -> Status[None]:
    """Delete a search and its plans; runs that show replicas stay."""
    deletion.delete(search_or_404(search_id))
    return Status(NOTHING, None)


@router.post("/plans/{uuid:search_id}/cancel", response={ACCEPTED: SearchOut})
def cancel_search(request: HttpRequest, search_id: uuid.UUID, response: HttpResponse) -> Status[SearchOut]:
    """Cancel a search; the plans found so far are kept."""
    if not cancel_job(search_or_404(search_id)):
        raise conflict(ENDED)
    return begun(response, "show_search", search_id, search_out(search_or_404(search_id)))


@router.get("/plans/{uuid:search_id}/events", response=EventsOut, openapi_extra=PAGE)
@in_threads(DATA)
def events_of_search(request: HttpRequest, search_id: uuid.UUID) -> HttpResponseBase:
    """List events of a search in their order, with its state."""
    return events_page(request, JobEvents(PlanSearch, search_id, "search for plans"))


@router.get("/plans/{uuid:search_id}/events/stream", openapi_extra=STREAM)
async def stream_of_search(request: HttpRequest, search_id: uuid.UUID) -> HttpResponseBase:
    """Stream the events of a search as server-sent events, until it has ended."""
    return await event_stream(request, JobEvents(PlanSearch, search_id, "search for plans"), still_allowed(request))


@router.get("/plans/{uuid:search_id}/report", response=PlansReportOut)
def report_of_search(request: HttpRequest, search_id: uuid.UUID) -> HttpResponseBase:
    """Give the report of a search, once it has ended with one."""
    return report(request, search_id)


@router.post("/plans/{uuid:search_id}/open", response={ACCEPTED: RunOut})
@makes_once
def open_replica(
    request: HttpRequest, search_id: uuid.UUID, body: ReplicaBody, response: HttpResponse
) -> Status[RunOut]:
    """Show a replica of a plan as a run of its placement alone, on the replica's devices."""
    search = search_or_404(search_id)
    form = filled(ReplicaForm, body)
    if report_of(search) is None:
        raise Http404(NO_PLAN)
    with a_slot_to_explain():
        run = run_of_replica(search, form.cleaned_data["plan"], form.cleaned_data["replica"])
    return begun(response, "show_run", run.id, run_out(run_or_404(run.id)))
