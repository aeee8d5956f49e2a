"""Measuring on this server's machine: step times of placements, and op times of a graph."""

import uuid
from datetime import datetime
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query, Status
from pydantic import BaseModel, ConfigDict, Field

from webapp.api.answers import ACCEPTED, NOTHING, begun, binary, one_of, out_of
from webapp.api.form_schemas import FormBody, fields_of, filled
from webapp.api.once import makes_once
from webapp.api.operations.graphs import GraphOut, ProgressOut, graph_out, progress_out
from webapp.api.paging import PageOut, PageQuery, page_of_rows
from webapp.api.refusals import conflict
from webapp.api.routing import ApiRouter
from webapp.graphs.models import Graph
from webapp.jobs import deletion
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.jobs.job import ExecutedJob
from webapp.measuring import lifecycle
from webapp.measuring.candidates import candidates_of
from webapp.measuring.forms import ConsentForm, MeasurementForm
from webapp.measuring.models import Profile, StepMeasurement
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.measurements.views import UNDER_WAY as MEASUREMENT_UNDER_WAY
from webapp.pages.measurements.views import measurement_or_404, report
from webapp.pages.profiles.views import NO_TIMES, UNDER_WAY, download, graph_fault, profile_or_404

router = ApiRouter(tags=["Measuring"])

STATUSES = (ExecutedJob.QUEUED, ExecutedJob.RUNNING, ExecutedJob.DONE, ExecutedJob.FAILED, ExecutedJob.CANCELLED)
ENDED = "This measurement had already ended."


class MeasuringOut(BaseModel):
    """How far it is."""

    id: uuid.UUID
    graph_id: uuid.UUID
    status: str = Field(json_schema_extra=one_of(STATUSES))
    error: str = Field(description="One sentence; empty without an error.")
    progress: ProgressOut
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class MeasuredPlacementOut(BaseModel):
    """One of the placements of a measurement."""

    words: str
    run_id: uuid.UUID | None = Field(description="Whose best placement it is; null: of no run.")


class MeasurementOut(MeasuringOut):
    """A measurement of placements."""

    cluster: dict[str, Any] = Field(description="Cluster JSON.")
    rounds: int
    steps: int = Field(description="Of each placement in a round.")
    placements: list[MeasuredPlacementOut]


class ProfileOut(MeasuringOut):
    """A measurement of the times of a graph's ops."""


class MeasurementPage(PageOut[MeasurementOut]):
    """A page of measurements, newest first."""


class ProfilePage(PageOut[ProfileOut]):
    """A page of profiles, newest first."""


class MeasurementReportOut(BaseModel):
    """The report; docs/formats/reports.md describes it."""

    model_config = ConfigDict(extra="allow")

    placements: list[dict[str, Any]]


@fields_of(MeasurementForm, required=("consent",))
class MeasurementBody(FormBody):
    """Runs on one cluster, what is measured besides, and how often."""


@fields_of(ConsentForm, required=("consent",))
class ProfileBody(FormBody):
    """The consent without which no graph is run."""


def measurement_out(measurement: StepMeasurement) -> MeasurementOut:
    """The measurement as an answer."""
    rows = measurement.placements.defer("device_of_group", "parts")
    placements = [MeasuredPlacementOut(words=row.words, run_id=row.run_id) for row in rows]
    return out_of(MeasurementOut, measurement, progress=progress_out(measurement), placements=placements)


def profile_out(profile: Profile) -> ProfileOut:
    """The profile as an answer."""
    return out_of(ProfileOut, profile, progress=progress_out(profile))


@router.get("/graphs/{uuid:graph_id}/measurements", response=MeasurementPage)
def list_measurements(request: HttpRequest, graph_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the measurements of placements of a graph, newest first."""
    return page_of_rows(graph_or_404(graph_id).measurements.defer("result"), query, measurement_out)


@router.post("/graphs/{uuid:graph_id}/measurements", response={ACCEPTED: MeasurementOut})
@makes_once
def start_measurement(
    request: HttpRequest, graph_id: uuid.UUID, body: MeasurementBody, response: HttpResponse
) -> Status[MeasurementOut]:
    """Measure the best placements of runs on this machine. It executes the graph."""
    graph = _measurable(graph_id)
    form = filled(partial(MeasurementForm, candidates_of(graph)), body)
    named = {name: form.cleaned_data[name] for name in ("one_device", "others", "rounds", "steps")}
    measurement = lifecycle.start_measurement(graph, form.chosen, **named)
    if measurement is None:
        raise conflict(MEASUREMENT_UNDER_WAY)
    return begun(response, "show_measurement", measurement.id, measurement_out(measurement))


@router.get("/measurements/{uuid:measurement_id}", response=MeasurementOut)
def show_measurement(request: HttpRequest, measurement_id: uuid.UUID) -> MeasurementOut:
    """Show a measurement, and how far it is."""
    return measurement_out(measurement_or_404(measurement_id))


@router.delete("/measurements/{uuid:measurement_id}", response={NOTHING: None})
def delete_measurement(request: HttpRequest, measurement_id: uuid.UUID) -> Status[None]:
    """Delete a measurement; the runs stay."""
    deletion.delete(measurement_or_404(measurement_id))
    return Status(NOTHING, None)


@router.post("/measurements/{uuid:measurement_id}/cancel", response={ACCEPTED: MeasurementOut})
def cancel_measurement(
    request: HttpRequest, measurement_id: uuid.UUID, response: HttpResponse
) -> Status[MeasurementOut]:
    """Cancel a measurement."""
    if not cancel_job(measurement_or_404(measurement_id)):
        raise conflict(ENDED)
    return begun(response, "show_measurement", measurement_id, measurement_out(measurement_or_404(measurement_id)))


@router.get("/measurements/{uuid:measurement_id}/report", response=MeasurementReportOut)
def report_of_measurement(request: HttpRequest, measurement_id: uuid.UUID) -> HttpResponseBase:
    """Give the report of a measurement, once it is done."""
    return report(request, measurement_id)


@router.get("/graphs/{uuid:graph_id}/profiles", response=ProfilePage)
def list_profiles(request: HttpRequest, graph_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the measurements of op times of a graph, newest first."""
    return page_of_rows(graph_or_404(graph_id).profiles.defer("result"), query, profile_out)


@router.post("/graphs/{uuid:graph_id}/profiles", response={ACCEPTED: ProfileOut})
@makes_once
def start_profile(
    request: HttpRequest, graph_id: uuid.UUID, body: ProfileBody, response: HttpResponse
) -> Status[ProfileOut]:
    """Measure the times of a graph's ops on this machine. It executes the graph."""
    graph = _measurable(graph_id)
    filled(ConsentForm, body)
    profile = lifecycle.start_profile(graph)
    if profile is None:
        raise conflict(UNDER_WAY)
    return begun(response, "show_profile", profile.id, profile_out(profile))


@router.get("/profiles/{uuid:profile_id}", response=ProfileOut)
def show_profile(request: HttpRequest, profile_id: uuid.UUID) -> ProfileOut:
    """Show a measurement of op times, and how far it is."""
    return profile_out(profile_or_404(profile_id))


@router.post("/profiles/{uuid:profile_id}/cancel", response={ACCEPTED: ProfileOut})
def cancel_profile(request: HttpRequest, profile_id: uuid.UUID, response: HttpResponse) -> Status[ProfileOut]:
    """Cancel a measurement of op times."""
    if not cancel_job(profile_or_404(profile_id)):
        raise conflict(ENDED)
    return begun(response, "show_profile", profile_id, profile_out(profile_or_404(profile_id)))


@router.get("/profiles/{uuid:profile_id}/file", openapi_extra=binary("application/octet-stream"))
def file_of_profile(request: HttpRequest, profile_id: uuid.UUID) -> HttpResponseBase:
    """Give the measured times as RunMetadata, once it is done."""
    return download(request, profile_id)


@router.post("/profiles/{uuid:profile_id}/use", response={ACCEPTED: GraphOut})
@makes_once
def use_profile(request: HttpRequest, profile_id: uuid.UUID, response: HttpResponse) -> Status[GraphOut]:
    """Read the graph's file as another graph, with the measured times."""
    profile = profile_or_404(profile_id)
    if not profile.is_done:
        raise conflict(NO_TIMES)
    graph = lifecycle.read_with_its_times(profile)
    return begun(response, "show_graph", graph.id, graph_out(graph))


def _measurable(graph_id: uuid.UUID) -> Graph:
    """The graph, if a worker can run it. Raises RefusedError, Http404."""
    graph = graph_or_404(graph_id)
    if fault := graph_fault(graph):
        raise conflict(fault)
    return graph
