"""Webhooks of a project: list, add, edit, test, switch, delete; the log of their deliveries.

Their pages show where messages go and what came back, so they are for editors alone.
"""

import uuid
from functools import partial
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.access.marks import needs
from webapp.hooks import lifecycle
from webapp.hooks.forms import WebhookForm
from webapp.hooks.models import Webhook
from webapp.hooks.noting import queue_again
from webapp.hooks.signing import secret_of
from webapp.http.user_errors import conflict, refused_form
from webapp.jobs import deletion
from webapp.pages.deleting import deletion_page
from webapp.pages.hooks.page import delivery_or_404, edit_page, hook_or_404, hook_page, list_page
from webapp.pages.projects.page import project_or_404
from webapp.projects.access import Role

TESTED_ALREADY = "A test is on its way. Its line below says how it ended."
IS_OFF = "This webhook is switched off. Switch it on first."
NOT_ENDED = "This delivery is still on its way."


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def hook_list(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """The webhooks of a project; a POST adds one, and shows its secret this once."""
    project = project_or_404(project_id)
    if request.method != "POST":
        return list_page(request, project, WebhookForm())
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return refused_form(request, form, partial(list_page, request, project, form))
    hook = lifecycle.add(project, form.hook(origin_of(request)))
    return _with_secret(request, hook, HTTPStatus.CREATED)


@needs(Role.EDITOR)
@require_safe
@never_cache
def detail(request: HttpRequest, hook_id: uuid.UUID) -> HttpResponse:
    """One webhook with its log."""
    return hook_page(request, hook_or_404(hook_id))


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def edit(request: HttpRequest, hook_id: uuid.UUID) -> HttpResponse:
    """The form of a stored webhook; a POST stores it."""
    hook = hook_or_404(hook_id)
    if request.method != "POST":
        return edit_page(request, hook, WebhookForm(hook=hook))
    form = WebhookForm(request.POST, hook=hook)
    if not form.is_valid():
        return refused_form(request, form, partial(edit_page, request, hook, form))
    form.hook(origin_of(request)).save(update_fields=["name", "events", "origin", "target", "kind"])
    return redirect("hooks:detail", hook_id=hook_id)


@needs(Role.EDITOR)
@require_POST
def test(request: HttpRequest, hook_id: uuid.UUID) -> HttpResponse:
    """Send a test."""
    hook, page = hook_or_404(hook_id), redirect("hooks:detail", hook_id=hook_id)
    if not hook.is_active:
        return conflict(request, IS_OFF, page)
    return page if lifecycle.send_test(hook) is not None else conflict(request, TESTED_ALREADY, page)


@needs(Role.EDITOR)
@require_POST
def switch(request: HttpRequest, hook_id: uuid.UUID) -> HttpResponse:
    """Switch it `on` or off."""
    lifecycle.switch(hook_or_404(hook_id), on=request.POST.get("on") == "yes")
    return redirect("hooks:detail", hook_id=hook_id)


@needs(Role.EDITOR)
@require_POST
@never_cache
def secret(request: HttpRequest, hook_id: uuid.UUID) -> HttpResponse:
    """Make a new secret and show it this once."""
    hook = hook_or_404(hook_id)
    lifecycle.renew_secret(hook)
    return _with_secret(request, hook, HTTPStatus.OK)


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, hook_id: uuid.UUID) -> HttpResponse:
    """Ask; a POST deletes it with its log."""
    hook = hook_or_404(hook_id)
    if request.method != "POST":
        return deletion_page(request, hook, hook.name, reverse("hooks:detail", args=[hook_id]))
    deletion.delete(hook)
    return redirect("hooks:list", project_id=hook.project_id)


@needs(Role.EDITOR)
@require_POST
def send_again(request: HttpRequest, hook_id: uuid.UUID, delivery_id: uuid.UUID) -> HttpResponse:
    """Send an ended delivery once more."""
    hook, page = hook_or_404(hook_id), redirect("hooks:detail", hook_id=hook_id)
    delivery = delivery_or_404(hook, delivery_id)
    if not hook.is_active:
        return conflict(request, IS_OFF, page)
    return page if queue_again(delivery) else conflict(request, NOT_ENDED, page)


def _with_secret(request: HttpRequest, hook: Webhook, status: HTTPStatus) -> HttpResponse:
    """Its page, with the secret where one is needed."""
    return hook_page(request, hook, secret=secret_of(hook) if hook.kind == Webhook.WEBHOOK else "", status=status)


def origin_of(request: HttpRequest) -> str:
    """`https://placeto.example.org`: where this person has the pages."""
    return request.build_absolute_uri("/").rstrip("/")
