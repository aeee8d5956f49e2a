"""Sessions of the explorer: what a placement of a run's graph on its cluster takes, and what each move would change."""

import uuid
from typing import Annotated, Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from ninja import Query
from pydantic import BaseModel, ConfigDict, Field

from engine import api
from webapp.access.marks import needs
from webapp.api.answers import binary
from webapp.api.routing import ApiRouter
from webapp.http.handler import EXPLAINING, in_threads
from webapp.pages.compressed import large_answer
from webapp.pages.explorer.views import explanation, gains_of_moves, made_by_hand
from webapp.pages.runs.downloads import NOTHING_YET
from webapp.pages.runs.page import run_or_404
from webapp.projects.access import Role
from webapp.runs.models import Answer, Run
from webapp.runs.sessions import session_of

router = ApiRouter(tags=["Explorer"])

MOST_ASKED = 10_000
DeviceNumber = Annotated[int, Field(ge=-1, lt=2**31)]
GroupNumber = Annotated[int, Field(ge=0, lt=2**31)]


class PlacementBody(BaseModel):
    """A placement of the run's graph on its cluster."""

    model_config = ConfigDict(extra="forbid", strict=True)

    placement: list[DeviceNumber] | dict[str, str] = Field(
        description="The number of the device of each group, −1 where its ops are on several as in `base`; "
        "or {op: device} of all ops."
    )
    base: str = Field("", description="`event-SEQ`, `run-ID`, `simplest`, or the id of a kept placement.")


class EvaluationOut(BaseModel):
    """What a step of a placement takes, simulated."""

    step_time_us: float
    feasible: bool = Field(description="Whether it fits the devices' memory.")
    missing_bytes: int = Field(description="That the worst device lacks; 0 if all fit.")
    peak_bytes: list[int] = Field(description="Of each device.")


class GainsQuery(BaseModel):
    """Which moves from the best placement so far."""

    groups: list[GroupNumber] = Field([], max_length=MOST_ASKED, description="Without any: all, or the largest ones.")
    to: list[GroupNumber] = Field([], max_length=MOST_ASKED, description="One device for each of `groups`; none: all.")


class GainsOut(BaseModel):
    """The step after each single move, by group and device."""

    groups: list[int]
    step_time_us: list[list[float | None]] = Field(description="null: the group may not go there.")
    missing_bytes: list[list[int]]


@router.post("/runs/{uuid:run_id}/evaluate", response=EvaluationOut)
@needs(Role.VIEWER)
@in_threads(EXPLAINING)
def evaluate_placement(request: HttpRequest, run_id: uuid.UUID, body: PlacementBody) -> EvaluationOut:
    """Simulate a step of a placement; nothing is stored."""
    run = run_or_404(run_id)
    session = session_of(run)
    outcome = session.evaluate(_given(session, run, body))
    return EvaluationOut(
        step_time_us=outcome.step_time_us,
        feasible=outcome.missing_bytes == 0,
        missing_bytes=outcome.missing_bytes,
        peak_bytes=outcome.peak_bytes.tolist(),
    )


@router.post("/runs/{uuid:run_id}/timeline", openapi_extra=binary("application/octet-stream"))
@needs(Role.VIEWER)
@in_threads(EXPLAINING)
def timeline_of_placement(request: HttpRequest, run_id: uuid.UUID, body: PlacementBody) -> HttpResponseBase:
    """Explain a step of a placement, as docs/formats/explanations.md describes it; nothing is stored."""
    run = run_or_404(run_id)
    session = session_of(run)
    explained = session.explain(_given(session, run, body))
    return large_answer(request, api.explanation_to_bytes(session, explained), "application/octet-stream")


@router.get("/runs/{uuid:run_id}/explanations/{int:seq}", openapi_extra=binary("application/octet-stream"))
@in_threads(EXPLAINING)
def explanation_of_event(request: HttpRequest, run_id: uuid.UUID, seq: int) -> HttpResponseBase:
    """Explain a step of the placement of an event, in the same format."""
    return explanation(request, run_id, seq)


@router.get("/runs/{uuid:run_id}/gains", response=GainsOut)
@in_threads(EXPLAINING)
def gains_of_run(request: HttpRequest, run_id: uuid.UUID, query: Query[GainsQuery]) -> dict[str, Any]:
    """Simulate the step after each single move of a group from the best placement so far."""
    run = run_or_404(run_id)
    answer = Answer.objects.filter(run=run).first()
    if answer is None:
        raise Http404(NOTHING_YET)
    session = session_of(run)
    return gains_of_moves(session, session.by_levels(answer.placement), query.groups or None, query.to or None)


def _given(session: api.Session, run: Run, body: PlacementBody) -> api.GivenPlacement:
    if isinstance(body.placement, dict):
        named: dict[str, api.Json] = {**body.placement}
        return session.by_levels(api.placement_of_names(session.prepared, session.cluster, named))
    return made_by_hand(session, run, body.placement, body.base)
