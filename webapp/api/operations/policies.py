"""Policies: list, upload, train, show, cancel, rename, delete; their events and files."""

import uuid
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query, Status
from pydantic import BaseModel, ConfigDict, Field

from engine import api
from webapp.access.gate import still_allowed
from webapp.access.marks import needs
from webapp.accounts.visitor import acting
from webapp.accounts_mode import OFF
from webapp.api.answers import ACCEPTED, CREATED, NOTHING, begun, binary, one_of, out_of
from webapp.api.event_answers import PAGE, STREAM, EventsOut
from webapp.api.form_schemas import FormBody, fields_of, filled, multipart_of
from webapp.api.once import makes_once
from webapp.api.operations.graphs import ProgressOut, progress_out
from webapp.api.paging import PageOut, PageQuery, page_of_rows
from webapp.api.refusals import RefusedError, conflict, refused
from webapp.api.renaming import NameBody, renamed
from webapp.api.routing import ApiRouter
from webapp.form_errors import add_to_form
from webapp.graphs.incoming import IncomingFile
from webapp.http.handler import DATA, in_threads
from webapp.http.user_errors import row_or_404, status_of
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.jobs.job import CHANGED
from webapp.jobs.stream import JobEvents
from webapp.pages.events import event_stream, events_page
from webapp.pages.policies.page import policy_or_404
from webapp.pages.policies.views import EVERYBODYS, IN_USE, OF_THE_RELEASE, download
from webapp.policies import lifecycle
from webapp.policies.forms import PolicyUploadForm, TrainForm
from webapp.policies.models import Policy
from webapp.policies.offered import visible_policies
from webapp.projects.access import Role, editable_by
from webapp.projects.models import Project

router = ApiRouter(tags=["Policies"])

STATUSES = (Policy.QUEUED, Policy.RUNNING, Policy.DONE, Policy.FAILED, Policy.CANCELLED)
ENDED = "This training had already ended."
PROJECT_WORDS = "With accounts: the id of the project that it belongs to."
WHOSE = "A policy belongs to a project here; allowed: the id of one in which you may add."


class PolicyOut(BaseModel):
    """A policy, or its training."""

    id: uuid.UUID
    project_id: uuid.UUID | None = Field(description="null: it belongs to the installation.")
    is_published: bool = Field(description="Whether every project may use it.")
    name: str
    source: str = Field(json_schema_extra=one_of(Policy.SOURCES))
    status: str = Field(json_schema_extra=one_of(STATUSES))
    error: str = Field(description="One sentence; empty without an error.")
    note: str = Field(description="What is unlike what was asked for; empty where nothing is.")
    progress: ProgressOut
    cancel_requested: bool
    is_usable: bool = Field(description="Whether runs can apply it.")
    digest: str = Field(description="SHA-256 of its file; empty until there is one.")
    file_bytes: int
    trained_on: str = Field(description="In a few words.")
    card: dict[str, Any] | None = Field(description="What is known of it; null until it has a file, and in lists.")
    last_seq: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class PolicyPage(PageOut[PolicyOut]):
    """A page of policies, newest first."""


@fields_of(TrainForm, required=("name",))
class TrainingBody(FormBody):
    """Graphs, clusters and time of a training."""

    project_id: str | None = Field(None, description="With accounts: whose graphs are used, and whose policy it is.")


class PublishedBody(BaseModel):
    """Whether every project may use it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    published: bool


def policy_out(policy: Policy, *, whole: bool = True) -> PolicyOut:
    """The policy as an answer; not `whole`: as in lists, without its large columns."""
    progress = progress_out(policy)
    return out_of(PolicyOut, policy, progress=progress, card=(policy.known or None) if whole else None)


def _shown(policy_id: uuid.UUID) -> PolicyOut:
    return policy_out(policy_or_404(policy_id, whole=True))


@router.get("/policies", response=PolicyPage)
def list_policies(request: HttpRequest, query: Query[PageQuery]) -> object:
    """List the policies that you may see, newest first."""
    rows = visible_policies(Policy.objects.defer(*Policy.LARGE), acting())
    return page_of_rows(rows, query, partial(policy_out, whole=False))


@router.post(
    "/policies", response={CREATED: PolicyOut}, openapi_extra=multipart_of(PolicyUploadForm, project=PROJECT_WORDS)
)
@makes_once
def upload_policy(request: HttpRequest, response: HttpResponse) -> Status[PolicyOut]:
    """Store a file as a policy; a file that is there already gives its policy."""
    form = PolicyUploadForm(request.POST, request.FILES)
    if not form.is_valid():
        raise refused(form)
    file = form.cleaned_data["file"]
    assert isinstance(file, IncomingFile)
    try:
        policy, _ = lifecycle.accept_upload(file, form.chosen_project)
    except api.PlacetoError as error:
        add_to_form(form, error, "file")
        raise refused(form, status_of(error)) from None
    return begun(response, "show_policy", policy.id, _shown(policy.id), CREATED)


@router.post("/policies/train", response={ACCEPTED: PolicyOut})
@makes_once
def train_policy(request: HttpRequest, body: TrainingBody, response: HttpResponse) -> Status[PolicyOut]:
    """Train a policy."""
    project = _place(body.project_id)
    form = filled(partial(TrainForm, project), body, left_out=("project_id",))
    policy = lifecycle.start_training(form.cleaned_data["name"], form.plan, project)
    return begun(response, "show_policy", policy.id, _shown(policy.id))


@router.get("/policies/{uuid:policy_id}", response=PolicyOut)
def show_policy(request: HttpRequest, policy_id: uuid.UUID) -> PolicyOut:
    """Show a policy, or how far its training is."""
    return _shown(policy_id)


@router.patch("/policies/{uuid:policy_id}", response=PolicyOut)
def change_policy(request: HttpRequest, policy_id: uuid.UUID, body: NameBody) -> PolicyOut:
    """Rename a policy; the release's keeps its own name."""
    renamed(_own(policy_id), body)
    return _shown(policy_id)


@router.delete("/policies/{uuid:policy_id}", response={NOTHING: None})
def delete_policy(request: HttpRequest, policy_id: uuid.UUID) -> Status[None]:
    """Delete a policy that no unfinished run uses; ended runs keep their answers and its name."""
    if not lifecycle.delete(_own(policy_id)):
        raise conflict(IN_USE)
    return Status(NOTHING, None)


@router.post("/policies/{uuid:policy_id}/cancel", response={ACCEPTED: PolicyOut})
def cancel_training(request: HttpRequest, policy_id: uuid.UUID, response: HttpResponse) -> Status[PolicyOut]:
    """Cancel a training; what it has learned so far is kept."""
    if not cancel_job(policy_or_404(policy_id)):
        raise conflict(ENDED)
    return begun(response, "show_policy", policy_id, _shown(policy_id))


@router.post("/policies/{uuid:policy_id}/publish", response=PolicyOut)
@needs(Role.OWNER)
def publish_policy(request: HttpRequest, policy_id: uuid.UUID, body: PublishedBody) -> PolicyOut:
    """Let every project use a policy, or its own alone again."""
    if policy_or_404(policy_id).project_id is None:
        raise conflict(EVERYBODYS)
    Policy.objects.filter(id=policy_id).update(is_published=body.published, **CHANGED)
    return _shown(policy_id)


@router.get("/policies/{uuid:policy_id}/events", response=EventsOut, openapi_extra=PAGE)
@in_threads(DATA)
def events_of_policy(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponseBase:
    """List events of a training in their order, with its state."""
    return events_page(request, JobEvents(Policy, policy_id, "policy"))


@router.get("/policies/{uuid:policy_id}/events/stream", openapi_extra=STREAM)
async def stream_of_policy(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponseBase:
    """Stream the events of a training as server-sent events, until it has ended."""
    return await event_stream(request, JobEvents(Policy, policy_id, "policy"), still_allowed(request))


@router.get("/policies/{uuid:policy_id}/file", openapi_extra=binary("application/octet-stream"))
def file_of_policy(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponseBase:
    """Give the file of a policy."""
    return download(request, policy_id)


def _place(project_id: str | None) -> Project | None:
    """The project of a new policy; none without accounts. Raises RefusedError."""
    if settings.ACCOUNTS == OFF:
        return None
    try:
        return row_or_404(editable_by(acting()), project_id or "", "project")
    except Http404:
        raise RefusedError(HTTPStatus.BAD_REQUEST, {"project_id": [WHOSE]}) from None


def _own(policy_id: uuid.UUID) -> Policy:
    """A policy that did not come with the release. Raises RefusedError, Http404."""
    policy = policy_or_404(policy_id)
    if policy.source == Policy.DEFAULT:
        raise conflict(OF_THE_RELEASE)
    return policy
