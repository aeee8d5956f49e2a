"""The pages of a project's webhooks and of one, also shown with the errors of their forms."""

import uuid
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.hooks.forms import WebhookForm, place_of
from webapp.hooks.models import Delivery, Webhook
from webapp.http.user_errors import row_or_404
from webapp.pages.pagination import page_of
from webapp.projects.models import Project


def hook_or_404(hook_id: uuid.UUID) -> Webhook:
    """The webhook with its project; raises Http404 with a sentence."""
    return row_or_404(Webhook.objects.select_related("project"), hook_id, "webhook")


def delivery_or_404(hook: Webhook, delivery_id: uuid.UUID) -> Delivery:
    """A delivery to the webhook; raises Http404 with a sentence."""
    return row_or_404(hook.deliveries.all(), delivery_id, "delivery")


def list_page(request: HttpRequest, project: Project, form: WebhookForm, status: int = HTTPStatus.OK) -> HttpResponse:
    """Context: project, hooks (with the place of each), form."""
    hooks = list(project.webhooks.all())
    context = {"project": project, "hooks": [(hook, place_of(hook)) for hook in hooks], "form": form}
    return render(request, "hooks/list.html", context, status=status)


def hook_page(request: HttpRequest, hook: Webhook, *, secret: str = "", status: int = HTTPStatus.OK) -> HttpResponse:
    """Context: hook, project, place (what may be shown of the address), deliveries (a page), waits (whether one of them
    is to be sent), secret (shown this once, or empty).
    """
    deliveries = page_of(hook.deliveries.order_by("-created_at", "id"), request)
    context = {
        "hook": hook,
        "project": hook.project,
        "place": place_of(hook),
        "deliveries": deliveries,
        "waits": any(not delivery.has_ended for delivery in deliveries),
        "secret": secret,
    }
    return render(request, "hooks/detail.html", context, status=status)


def edit_page(request: HttpRequest, hook: Webhook, form: WebhookForm, status: int = HTTPStatus.OK) -> HttpResponse:
    """Context: hook, project, form."""
    return render(request, "hooks/edit.html", {"hook": hook, "project": hook.project, "form": form}, status=status)
