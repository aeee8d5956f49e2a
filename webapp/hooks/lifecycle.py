"""Makes, tries, switches and forgets webhooks."""

import uuid
from functools import partial

from django.db import transaction
from django.db.models.functions import Now
from django.http import Http404
from django.utils import timezone

from engine import api
from webapp.hooks.bodies import Occurrence
from webapp.hooks.events import TEST
from webapp.hooks.models import Delivery, Webhook
from webapp.hooks.noting import delivery_of
from webapp.hooks.signing import new_salt
from webapp.jobs.job import CHANGED
from webapp.jobs.publishing import publish_soon
from webapp.projects.models import Project

MOST_HOOKS = 20
"""of a project"""


def add(project: Project, hook: Webhook) -> Webhook:
    """Store a new webhook. Raises LimitError, Http404."""
    with transaction.atomic():
        if not Project.objects.select_for_update().filter(id=project.id).exists():
            raise Http404("This project has been deleted meanwhile.")
        if project.webhooks.count() >= MOST_HOOKS:
            raise api.LimitError(f"{MOST_HOOKS} webhooks of one project", allowed="fewer: delete one that is not used")
        hook.project, hook.secret_salt = project, new_salt()
        hook.save(force_insert=True)
    return hook


def renew_secret(hook: Webhook) -> None:
    """Give it another secret; the old one is of no use from now on."""
    hook.secret_salt = new_salt()
    Webhook.objects.filter(id=hook.id).update(secret_salt=hook.secret_salt)


def switch(hook: Webhook, *, on: bool) -> None:
    """On: it hears of what ends from now on. Off: what waits to be sent is not sent any more."""
    with transaction.atomic():
        if on:
            Webhook.objects.filter(id=hook.id, is_active=False).update(is_active=True, listens_since=Now())
        else:
            Webhook.objects.filter(id=hook.id).update(is_active=False)
            waiting = Delivery.objects.filter(webhook=hook, status=Delivery.QUEUED)
            waiting.update(status=Delivery.CANCELLED, finished_at=Now(), **CHANGED)


def send_test(hook: Webhook) -> Delivery | None:
    """Queue a delivery that says nothing but that it is a test; None if one waits already."""
    occurrence = Occurrence(TEST, uuid.uuid4().hex, timezone.now(), hook.project, None)
    with transaction.atomic():
        Webhook.objects.select_for_update().filter(id=hook.id).first()
        unended = Delivery.objects.filter(webhook=hook, event=TEST, status__in=(Delivery.QUEUED, Delivery.SENDING))
        if unended.filter(tries=0).exists():
            return None
        delivery = delivery_of(occurrence, hook)
        delivery.save(force_insert=True)
        transaction.on_commit(partial(publish_soon, Delivery.QUEUE))
    return delivery
