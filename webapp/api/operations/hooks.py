"""Webhooks of a project: list, add, change, test, switch, delete; the log of their deliveries."""

import uuid
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from ninja import Query, Status
from pydantic import BaseModel, Field

from webapp.api.answers import ACCEPTED, CREATED, NOTHING, begun, one_of, out_of
from webapp.api.form_schemas import FormBody, fields_of, filled
from webapp.api.once import makes_once
from webapp.api.operations.links import outside
from webapp.api.paging import PageOut, PageQuery, page_of_rows
from webapp.api.refusals import conflict
from webapp.api.routing import ApiRouter
from webapp.hooks import lifecycle
from webapp.hooks.forms import WebhookForm, place_of
from webapp.hooks.models import Delivery, Webhook
from webapp.hooks.noting import queue_again
from webapp.hooks.signing import secret_of
from webapp.jobs import deletion
from webapp.pages.hooks.page import delivery_or_404, hook_or_404
from webapp.pages.hooks.views import IS_OFF, NOT_ENDED, TESTED_ALREADY, origin_of
from webapp.pages.projects.page import project_or_404

router = ApiRouter(tags=["Webhooks"])

STATUSES = (Delivery.QUEUED, Delivery.SENDING, Delivery.DONE, Delivery.FAILED, Delivery.CANCELLED)


class HookOut(BaseModel):
    """A webhook. Its address may hold a secret of the receiver and is not shown."""

    id: uuid.UUID
    project_id: uuid.UUID
    name: str
    kind: str = Field(json_schema_extra=one_of(Webhook.KINDS))
    place: str = Field(description="What may be shown of its address.")
    events: list[str]
    is_active: bool
    created_at: datetime


class HookWithSecretOut(HookOut):
    """A webhook with the secret that signs its messages, which is shown this once."""

    secret: str = Field(description="Empty for Apprise, which needs none.")


class HookPage(PageOut[HookOut]):
    """A page of webhooks, newest first."""


class DeliveryOut(BaseModel):
    """One event that is told to a webhook."""

    id: uuid.UUID
    event: str
    subject_id: uuid.UUID | None = Field(description="The run, comparison, search or policy; null of a test.")
    status: str = Field(json_schema_extra=one_of(STATUSES))
    error: str
    tries: int
    next_try_at: datetime | None
    status_code: int | None = Field(description="Of the last answer.")
    answer: str = Field(description="The beginning of the last answer.")
    created_at: datetime
    finished_at: datetime | None


class DeliveryPage(PageOut[DeliveryOut]):
    """A page of deliveries, newest first."""


@fields_of(WebhookForm, required=("name", "target"))
class HookBody(FormBody):
    """Name, address and events."""


@fields_of(WebhookForm)
class HookChangesBody(FormBody):
    """What changes of a webhook; the rest stays."""

    is_active: bool | None = Field(None, description="Whether anything is sent to it.")


def hook_out(hook: Webhook) -> HookOut:
    """The webhook as an answer."""
    return out_of(HookOut, hook, place=place_of(hook), events=hook.event_names)


def _with_secret(hook: Webhook) -> HookWithSecretOut:
    secret = secret_of(hook) if hook.kind == Webhook.WEBHOOK else ""
    return out_of(HookWithSecretOut, hook, place=place_of(hook), events=hook.event_names, secret=secret)


@router.get("/projects/{uuid:project_id}/webhooks", response=HookPage)
@outside
def list_hooks(request: HttpRequest, project_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List the webhooks of a project, newest first."""
    return page_of_rows(project_or_404(project_id).webhooks.all(), query, hook_out)


@router.post("/projects/{uuid:project_id}/webhooks", response={CREATED: HookWithSecretOut})
@outside
def add_hook(
    request: HttpRequest, project_id: uuid.UUID, body: HookBody, response: HttpResponse
) -> Status[HookWithSecretOut]:
    """Add a webhook; the answer has its secret, this once."""
    project = project_or_404(project_id)
    form = filled(WebhookForm, body)
    hook = lifecycle.add(project, form.hook(origin_of(request)))
    return begun(response, "show_hook", hook.id, _with_secret(hook_or_404(hook.id)), CREATED)


@router.get("/webhooks/{uuid:hook_id}", response=HookOut)
@outside
def show_hook(request: HttpRequest, hook_id: uuid.UUID) -> HookOut:
    """Show a webhook."""
    return hook_out(hook_or_404(hook_id))


@router.patch("/webhooks/{uuid:hook_id}", response=HookOut)
@outside
def change_hook(request: HttpRequest, hook_id: uuid.UUID, body: HookChangesBody) -> HookOut:
    """Change a webhook, or switch it on or off."""
    hook = hook_or_404(hook_id)
    form = filled(WebhookForm, body, left_out=("is_active",), hook=hook)
    form.hook(origin_of(request)).save(update_fields=["name", "events", "origin", "target", "kind"])
    if body.is_active is not None:
        lifecycle.switch(hook, on=body.is_active)
    return hook_out(hook_or_404(hook_id))


@router.delete("/webhooks/{uuid:hook_id}", response={NOTHING: None})
@outside
def delete_hook(request: HttpRequest, hook_id: uuid.UUID) -> Status[None]:
    """Delete a webhook with its log."""
    deletion.delete(hook_or_404(hook_id))
    return Status(NOTHING, None)


@router.post("/webhooks/{uuid:hook_id}/secret", response=HookWithSecretOut)
@outside
def renew_secret(request: HttpRequest, hook_id: uuid.UUID) -> HookWithSecretOut:
    """Make a new secret, which is shown this once; the old one is of no use any more."""
    hook = hook_or_404(hook_id)
    lifecycle.renew_secret(hook)
    return _with_secret(hook)


@router.post("/webhooks/{uuid:hook_id}/test", response={ACCEPTED: DeliveryOut})
@makes_once
@outside
def test_hook(request: HttpRequest, hook_id: uuid.UUID) -> Status[DeliveryOut]:
    """Send a test; its delivery says how it ends."""
    delivery = lifecycle.send_test(_active(hook_id))
    if delivery is None:
        raise conflict(TESTED_ALREADY)
    return Status(ACCEPTED, out_of(DeliveryOut, delivery))


@router.get("/webhooks/{uuid:hook_id}/deliveries", response=DeliveryPage)
@outside
def list_deliveries(request: HttpRequest, hook_id: uuid.UUID, query: Query[PageQuery]) -> object:
    """List what was sent to a webhook, newest first."""
    rows = hook_or_404(hook_id).deliveries.all()
    return page_of_rows(rows, query, lambda delivery: out_of(DeliveryOut, delivery))


@router.post("/webhooks/{uuid:hook_id}/deliveries/{uuid:delivery_id}/again", response={ACCEPTED: DeliveryOut})
@outside
def send_again(request: HttpRequest, hook_id: uuid.UUID, delivery_id: uuid.UUID) -> Status[DeliveryOut]:
    """Send an ended delivery once more."""
    hook = _active(hook_id)
    if not queue_again(delivery_or_404(hook, delivery_id)):
        raise conflict(NOT_ENDED)
    return Status(ACCEPTED, out_of(DeliveryOut, delivery_or_404(hook, delivery_id)))


def _active(hook_id: uuid.UUID) -> Webhook:
    """The webhook, if it is switched on. Raises RefusedError, Http404."""
    hook = hook_or_404(hook_id)
    if not hook.is_active:
        raise conflict(IS_OFF)
    return hook
