"""Graphs: upload, sample, show, begin, read again, rename, delete; what they look like."""

import uuid
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query, Status
from pydantic import BaseModel, ConfigDict, Field

from engine import api
from webapp.access.gate import still_allowed
from webapp.api.answers import ACCEPTED, NOTHING, begun, one_of, out_of
from webapp.api.event_answers import PAGE, STREAM, EventsOut
from webapp.api.form_schemas import FormBody, data_of, fields_of, filled, given_fields, multipart_of
from webapp.api.once import makes_once
from webapp.api.paging import PageOut, PageQuery, page_of_rows
from webapp.api.refusals import RefusedError, conflict, refused
from webapp.api.renaming import NameBody, renamed
from webapp.api.routing import ApiRouter
from webapp.form_errors import add_to_form
from webapp.graphs.forms import AgainForm, BeginForm, SampleForm, UploadForm
from webapp.graphs.incoming import IncomingFile
from webapp.graphs.models import Graph
from webapp.graphs.readings import current, delete_with_readings, newest_reading
from webapp.graphs.uploads import accept_sample, accept_upload, begin_reading, read_again
from webapp.http.handler import DATA, EXPLAINING, in_threads
from webapp.http.user_errors import status_of
from webapp.jobs.job import StagedJob
from webapp.jobs.stream import JobStages
from webapp.pages.events import event_stream, events_page
from webapp.pages.explorer.views import ops
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.graphs.views import ASKS_NO_MORE, view_answer
from webapp.pages.projects.page import project_or_404

router = ApiRouter(tags=["Graphs"])

NO_SUCH_COUNT = "This graph has no {} with an open count; allowed: {}."
STATUSES = (Graph.ASKING, Graph.QUEUED, Graph.READING, Graph.READY, Graph.FAILED)


class ProgressOut(BaseModel):
    """How far a job is."""

    stage: str = Field(description="What the worker is doing; empty while none has it.")
    done: int
    total: int = Field(description="0: not known.")


class OpenInputOut(BaseModel):
    """An input whose shape the file leaves open."""

    name: str
    shape: list[int] = Field(description="−1 for an open length.")
    needs_batch_size: bool


class GraphOut(BaseModel):
    """A graph, and how far its reading is."""

    id: uuid.UUID
    project_id: uuid.UUID
    name: str
    suffix: str = Field(description="Of its format.")
    status: str = Field(json_schema_extra=one_of(STATUSES))
    error: str = Field(description="One sentence; empty without an error.")
    progress: ProgressOut
    asked: list[OpenInputOut] = Field(description="What the file leaves open, while it asks.")
    asked_lengths: dict[str, str] = Field(description="Names for `lengths` of `/begin` → what they are.")
    file_bytes: int
    content_hash: str = Field(description="SHA-256 of the file; empty until there is one.")
    sample: str = Field(description="The sample's name; empty for an upload.")
    options: dict[str, Any] = Field(description="How it is read; empty: as usual.")
    times_name: str = Field(description="The file of measured times; empty without one.")
    ops: int | None = Field(description="null until it is ready.")
    groups: int | None
    summary: dict[str, Any] | None = Field(description="What the reading found; null until it is ready, and in lists.")
    newest_id: uuid.UUID = Field(description="The newest reading of its file: its own id unless it was read again.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class GraphPage(PageOut[GraphOut]):
    """A page of graphs, newest first, without those that have been read again."""


@fields_of(SampleForm, required=("sample",))
class SampleBody(FormBody):
    """Which sample to build."""


@fields_of(BeginForm)
class BeginBody(FormBody):
    """What a file leaves open."""

    as_it_is: bool = Field(False, description="Read it as it is, with what stays open.")
    lengths: dict[str, int] = Field(default_factory=dict, description="Names of `asked_lengths` → lengths.")


@fields_of(AgainForm)
class AgainBody(FormBody):
    """How to read a graph. What is not given is as in its last reading."""

    trips_by_name: dict[str, int] = Field(default_factory=dict, description="Loop → trips, in place of lines.")
    sizes_by_name: dict[str, int] = Field(default_factory=dict, description="Op → length, in place of lines.")


class ViewOut(BaseModel):
    """The grouped graph; docs/formats.md describes the rest."""

    model_config = ConfigDict(extra="allow")

    groups: list[dict[str, Any]]


class OpsOut(BaseModel):
    """The ops of a graph, in one order."""

    names: list[str]
    short_names: list[str]
    types: list[str]
    groups: list[int] = Field(description="Op → its group.")


def graph_out(graph: Graph, *, whole: bool = True) -> GraphOut:
    """The graph as an answer; not `whole`: as in lists, without its large columns."""
    asked = [out_of(OpenInputOut, each) for each in graph.asked] if whole else []
    return out_of(
        GraphOut,
        graph,
        progress=progress_out(graph),
        asked=asked,
        asked_lengths=_asked_lengths(graph) if asked else {},
        ops=graph.op_count,
        groups=graph.group_count,
        summary=graph.summary if whole and graph.is_ready else None,
        newest_id=newest_reading(graph).id if whole else graph.id,
    )


def progress_out(job: StagedJob) -> ProgressOut:
    """How far a job is that reports its progress."""
    progress: Any = job.progress()
    return ProgressOut(**{name: progress[name] for name in ProgressOut.model_fields})


def _asked_lengths(graph: Graph) -> dict[str, str]:
    fields = BeginForm(graph).fields.items()
    return {name: str(field.label) for name, field in fields if name not in BeginForm.base_fields}


@router.get("/projects/{uuid:project_id}/graphs", response=GraphPage)
def list_graphs(request: HttpRequest, project_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the graphs of a project, newest first."""
    rows = current(project_or_404(project_id).graphs.defer("summary"))
    return page_of_rows(rows, query, partial(graph_out, whole=False))


@router.post(
    "/projects/{uuid:project_id}/graphs", response={ACCEPTED: GraphOut}, openapi_extra=multipart_of(UploadForm)
)
@makes_once
def upload_graph(request: HttpRequest, project_id: uuid.UUID, response: HttpResponse) -> Status[GraphOut]:
    """Store a file as a graph for a worker to read. Above 16 MB, make an upload in parts instead."""
    project = project_or_404(project_id)
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        raise refused(form)
    file = form.cleaned_data["file"]
    assert isinstance(file, IncomingFile)
    try:
        graph = accept_upload(project, file, form.options, form.times_file)
    except api.PlacetoError as error:
        add_to_form(form, error, "file")
        raise refused(form, status_of(error)) from None
    return begun(response, "show_graph", graph.id, graph_out(graph))


@router.post("/projects/{uuid:project_id}/samples", response={ACCEPTED: GraphOut})
@makes_once
def build_sample(
    request: HttpRequest,
    project_id: uuid.UUID,
    body: SampleBody,
    response: HttpResponse,
) -> Status[GraphOut]:
    """Make a graph of a sample for a worker to build and read."""
    project = project_or_404(project_id)
    graph = accept_sample(project, filled(SampleForm, body).cleaned_data["sample"])
    return begun(response, "show_graph", graph.id, graph_out(graph))


@router.get("/graphs/{uuid:graph_id}", response=GraphOut)
def show_graph(request: HttpRequest, graph_id: uuid.UUID) -> GraphOut:
    """Show a graph, and how far its reading is."""
    return graph_out(graph_or_404(graph_id))


@router.patch("/graphs/{uuid:graph_id}", response=GraphOut)
def change_graph(request: HttpRequest, graph_id: uuid.UUID, body: NameBody) -> GraphOut:
    """Rename a graph."""
    renamed(graph_or_404(graph_id), body)
    return graph_out(graph_or_404(graph_id))


@router.delete("/graphs/{uuid:graph_id}", response={NOTHING: None})
def delete_graph(request: HttpRequest, graph_id: uuid.UUID) -> Status[None]:
    """Delete a graph, its file and its runs."""
    delete_with_readings(graph_or_404(graph_id))
    return Status(NOTHING, None)


@router.post("/graphs/{uuid:graph_id}/begin", response={ACCEPTED: GraphOut})
def begin_graph(
    request: HttpRequest,
    graph_id: uuid.UUID,
    body: BeginBody,
    response: HttpResponse,
) -> Status[GraphOut]:
    """Read a graph that asks, with what its file leaves open, or as it is."""
    graph = graph_or_404(graph_id)
    given = body.model_dump(exclude_unset=True)
    if given.pop("as_it_is", False):
        options = graph.own_options
    else:
        form = BeginForm(graph, data_of(BeginForm(graph), {**given.pop("lengths", {}), **given}))
        if not form.is_valid():
            raise refused(form)
        options = form.options
    if not begin_reading(graph, options):
        raise conflict(ASKS_NO_MORE)
    return begun(response, "show_graph", graph.id, graph_out(graph_or_404(graph_id)))


@router.post(
    "/graphs/{uuid:graph_id}/again",
    response={ACCEPTED: GraphOut},
    openapi_extra=multipart_of(AgainForm, schema=AgainBody),
)
@makes_once
def read_graph_again(request: HttpRequest, graph_id: uuid.UUID, response: HttpResponse) -> Status[GraphOut]:
    """Read the same file with other options, as another graph; what is not given stays as it is."""
    graph = graph_or_404(graph_id)
    unbound = AgainForm(graph)
    given = _counts_in_fields(unbound, given_fields(request, AgainBody))
    form = AgainForm(graph, data_of(unbound, given), request.FILES)
    if not form.is_valid():
        raise refused(form)
    times_path = graph.times_path if form.cleaned_data.get("keep_times") else None
    try:
        new = read_again(graph, form.options, form.times_file or times_path, graph.times_name)
    except api.PlacetoError as error:
        add_to_form(form, error, "run_metadata")
        raise refused(form, status_of(error)) from None
    return begun(response, "show_graph", new.id, graph_out(new))


def _counts_in_fields(form: AgainForm, given: dict[str, Any]) -> dict[str, Any]:
    """`given`, with trips and sizes by name in the fields that the form has for them. Raises RefusedError."""
    for kind, rows in (("trips", form.trips_rows), ("sizes", form.sizes_rows)):
        keys = {row.name: row.key for row, _ in rows}
        for name, count in given.pop(f"{kind}_by_name", {}).items():
            if name in keys:
                given[keys[name]] = count
            elif kind in form.fields:
                given[kind] = f"{given.get(kind, '')}\n{name}={count}".strip()
            else:
                sentence = NO_SUCH_COUNT.format(
                    api.shortened(repr(name)), ", ".join(map(api.shortened, keys)) or "none"
                )
                raise RefusedError(HTTPStatus.BAD_REQUEST, {f"{kind}_by_name": [sentence]})
    return given


@router.get("/graphs/{uuid:graph_id}/events", response=EventsOut, openapi_extra=PAGE)
@in_threads(DATA)
def events_of_graph(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponseBase:
    """Show how far the reading is; it has no events."""
    return events_page(request, JobStages(Graph, graph_id, "graph"))


@router.get("/graphs/{uuid:graph_id}/events/stream", openapi_extra=STREAM)
async def stream_of_graph(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponseBase:
    """Stream the state of the reading as server-sent events, until it has ended."""
    return await event_stream(request, JobStages(Graph, graph_id, "graph"), still_allowed(request))


@router.get("/graphs/{uuid:graph_id}/view", response=ViewOut)
def view_graph(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponseBase:
    """Show the grouped graph, laid out."""
    return view_answer(graph_or_404(graph_id))


@router.get("/graphs/{uuid:graph_id}/ops", response=OpsOut)
@in_threads(EXPLAINING)
def list_ops(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponseBase:
    """List names, types and groups of the ops."""
    return ops(request, graph_id)
