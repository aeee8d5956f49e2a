"""Runs: start, list, show, cancel, rename, delete; their placements, reports and files."""

import uuid
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query, Status
from pydantic import BaseModel, ConfigDict, Field

from engine import api
from webapp.access.gate import still_allowed
from webapp.api.answers import ACCEPTED, NOTHING, begun, binary, one_of
from webapp.api.event_answers import PAGE, STREAM, EventsOut
from webapp.api.form_schemas import FormBody, fields_of, filled
from webapp.api.once import makes_once
from webapp.api.paging import PageOut, PageQuery, page_of_rows
from webapp.api.refusals import conflict, refused
from webapp.api.renaming import NameBody, renamed
from webapp.api.routing import ApiRouter
from webapp.http.handler import DATA, EXPLAINING, WAITING, in_threads
from webapp.jobs import deletion
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.jobs.stream import JobEvents
from webapp.pages.events import event_stream, events_page
from webapp.pages.exports.views import html_file
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.projects.page import project_or_404
from webapp.pages.runs.downloads import NAMES, REPORT, download, download_simplest
from webapp.pages.runs.page import result_of, run_fields, run_or_404
from webapp.runs import lifecycle
from webapp.runs.forms import RunForm
from webapp.runs.models import Run

router = ApiRouter(tags=["Runs"])

STATUSES = (Run.QUEUED, Run.RUNNING, Run.DONE, Run.FAILED, Run.CANCELLED)
ENDED = "This run had already ended."
NO_FILE = "A run has no such file; allowed: {}."


class DeviceOut(BaseModel):
    """A device of a cluster."""

    model_config = ConfigDict(extra="allow")

    name: str
    kind: str


class UsedPolicyOut(BaseModel):
    """The policy that a run starts from."""

    id: uuid.UUID | None = Field(description="null: it has been deleted.")
    name: str
    digest: str


class ResultOut(BaseModel):
    """The verdict and the figures of an answer; docs/formats/reports.md describes each."""

    model_config = ConfigDict(extra="allow")

    step_time_us: float | None
    verdict: dict[str, Any] | None
    simplest: dict[str, Any]


class RunOut(BaseModel):
    """A run: what it was asked, and how far it is."""

    id: uuid.UUID
    graph_id: uuid.UUID
    project_id: uuid.UUID
    name: str = Field(description="That a person gave it; empty without one.")
    title: str = Field(description="The name, or what it does.")
    status: str = Field(json_schema_extra=one_of(STATUSES))
    error: str = Field(description="One sentence; empty without an error.")
    cancel_requested: bool
    method: str
    settings: dict[str, Any]
    cluster: dict[str, Any] = Field(description="Cluster JSON.")
    devices: list[DeviceOut]
    evaluations: int = Field(description="The budget.")
    evaluations_used: int
    seconds: float | None = Field(description="The budget of wall time; null: none.")
    seed: int
    policy: UsedPolicyOut | None
    drop_devices: bool
    prefer: str
    stream: dict[str, Any] | None = Field(description="null: it makes the time of one step small.")
    constraints: list[Any]
    best_step_time_us: float | None = Field(description="null: no placement that fits has been found.")
    verdict: dict[str, Any] | None = Field(
        description="Of a run that found no placement that fits: by how much; null of any other, and in lists."
    )
    result: ResultOut | None = Field(description="null until it has a report, and in lists.")
    groups: int | None
    last_seq: int = Field(description="The number of its last event.")
    kept_events: int | None = Field(description="How many events its thinning has left; null: all.")
    attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class RunPage(PageOut[RunOut]):
    """A page of runs, newest first."""


@fields_of(RunForm, required=("cluster",))
class RunBody(FormBody):
    """Devices, objective, method, policy, budget, seed."""


PLACEMENT = {"application/json": {"schema": {"type": "object", "additionalProperties": {"type": "string"}}}}


def run_out(run: Run) -> RunOut:
    """The run as an answer."""
    result = result_of(run)
    found = None if result is None else ResultOut.model_validate(result)
    verdict = run.verdict if isinstance(run.verdict, dict) else None
    return RunOut(**_known(run), verdict=verdict, result=found)


def _listed(run: Run) -> RunOut:
    """The same without its result, which is large."""
    return RunOut(**_known(run), verdict=None, result=None)


def _known(run: Run) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "name": "",
        "stream": None,
        "constraints": [],
        "kept_events": None,
        "groups": run.graph.group_count,
    }
    return {**usual, **run_fields(run), "graph_id": run.graph_id, "project_id": run.project_id, "title": str(run)}


@router.get("/projects/{uuid:project_id}/runs", response=RunPage)
def list_runs_of_project(request: HttpRequest, project_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the runs on all graphs of a project, newest first."""
    rows = project_or_404(project_id).runs.select_related("graph").defer("graph__summary")
    return page_of_rows(rows, query, _listed)


@router.get("/graphs/{uuid:graph_id}/runs", response=RunPage)
def list_runs(request: HttpRequest, graph_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the runs on a graph, newest first."""
    rows = graph_or_404(graph_id).runs.select_related("graph").defer("graph__summary")
    return page_of_rows(rows, query, _listed)


@router.post("/graphs/{uuid:graph_id}/runs", response={ACCEPTED: RunOut})
@makes_once
def start_run(
    request: HttpRequest,
    graph_id: uuid.UUID,
    body: RunBody,
    response: HttpResponse,
) -> Status[RunOut]:
    """Start a run. What is not given is as the form first shows it; a method that takes no policy gets none.

    Where no placement could fit the devices, the answer is 422 at `cluster`.
    """
    graph = graph_or_404(graph_id)
    form = filled(RunForm, body, _usual_policy(body), graph=graph)
    form.require_placeable(graph, form.request)
    if form.errors:
        raise refused(form, HTTPStatus.UNPROCESSABLE_ENTITY if form.lacks_room else HTTPStatus.BAD_REQUEST)
    run = lifecycle.start(graph, form.request, form.policy_row)
    return begun(response, "show_run", run.id, run_out(run_or_404(run.id)))


def _usual_policy(body: RunBody) -> dict[str, str]:
    """No policy, for a method that takes none and is not given one; the page hides the field then."""
    given = body.model_dump(exclude_unset=True)
    takes = [method.name for method in api.methods() if method.takes_policy]
    return {} if "policy" in given or (given.get("method") or takes[0]) in takes else {"policy": ""}


@router.get("/runs/{uuid:run_id}", response=RunOut)
def show_run(request: HttpRequest, run_id: uuid.UUID) -> RunOut:
    """Show a run, and how far it is."""
    return run_out(run_or_404(run_id))


@router.patch("/runs/{uuid:run_id}", response=RunOut)
def change_run(request: HttpRequest, run_id: uuid.UUID, body: NameBody) -> RunOut:
    """Rename a run; an empty name leaves it without one."""
    renamed(run_or_404(run_id), body, may_be_empty=True)
    return run_out(run_or_404(run_id))


@router.delete("/runs/{uuid:run_id}", response={NOTHING: None})
def delete_run(request: HttpRequest, run_id: uuid.UUID) -> Status[None]:
    """Delete a run and its events; a worker notices and stops."""
    deletion.delete(run_or_404(run_id))
    return Status(NOTHING, None)


@router.post("/runs/{uuid:run_id}/cancel", response={ACCEPTED: RunOut})
def cancel_run(request: HttpRequest, run_id: uuid.UUID, response: HttpResponse) -> Status[RunOut]:
    """Cancel a run; its answer so far is kept."""
    if not cancel_job(run_or_404(run_id)):
        raise conflict(ENDED)
    return begun(response, "show_run", run_id, run_out(run_or_404(run_id)))


@router.get("/runs/{uuid:run_id}/events", response=EventsOut, openapi_extra=PAGE)
@in_threads(DATA)
def events_of_run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """List events of a run in their order, with its state."""
    return events_page(request, JobEvents(Run, run_id, "run"))


@router.get("/runs/{uuid:run_id}/events/stream", openapi_extra=STREAM)
async def stream_of_run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Stream the events of a run as server-sent events, until it has ended."""
    return await event_stream(request, JobEvents(Run, run_id, "run"), still_allowed(request))


@router.get("/runs/{uuid:run_id}/placement", openapi_extra={"responses": {200: {"content": PLACEMENT}}})
@in_threads(WAITING)
def placement_of_run(request: HttpRequest, run_id: uuid.UUID, simplest: bool = False) -> HttpResponseBase:
    """Give the best placement so far as {op: device}; with `simplest`, the simplest one near it."""
    return (download_simplest if simplest else download)(request, run_id, "placement.json")


@router.get("/runs/{uuid:run_id}/report", response=dict[str, Any])
@in_threads(WAITING)
def report_of_run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Give the engine's report; of a run without one, a report of its best placement so far."""
    return download(request, run_id, REPORT)


@router.get("/runs/{uuid:run_id}/files/run.html", openapi_extra=binary("application/octet-stream"))
@in_threads(EXPLAINING)
def page_of_run(request: HttpRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Give the page of a run that has ended as one file, which opens without a server."""
    return html_file(request, run_id)


@router.get(
    "/runs/{uuid:run_id}/files/{name}",
    openapi_extra=binary(*sorted({content_type for content_type, _ in NAMES.values()})),
)
@in_threads(WAITING)
def file_of_run(request: HttpRequest, run_id: uuid.UUID, name: str, simplest: bool = False) -> HttpResponseBase:
    """Give a file of the best placement so far, such as `placed.pb`; with `simplest`, of the simplest one near it."""
    run_or_404(run_id)
    if name not in NAMES:
        raise Http404(NO_FILE.format(", ".join(NAMES)))
    return (download_simplest if simplest else download)(request, run_id, name)
