"""Webhooks, and what is sent to them."""

import uuid
from typing import Any, ClassVar

from django.db import models
from django.db.models.functions import Now

from webapp.hooks.events import event_words
from webapp.jobs.deletion import DELETED, LIVING, Deletable
from webapp.jobs.job import Job
from webapp.json_field import JsonTextField
from webapp.projects.models import Project


class Webhook(Deletable):
    """Where messages about a project's work go."""

    WEBHOOK: ClassVar[str] = "webhook"
    APPRISE: ClassVar[str] = "apprise"
    KINDS: ClassVar[tuple[str, ...]] = (WEBHOOK, APPRISE)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="webhooks")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=16, default=WEBHOOK)
    """signed JSON to a program, or a message to people by Apprise"""
    target = models.TextField()
    """the address; it may hold a token of the receiver, so no page, answer or log shows it again"""
    secret_salt = models.CharField(max_length=64)
    """what the secret is made of, with this installation's secret key: see `signing.secret_of`"""
    events = JsonTextField(default=list)
    """[names of `EVENTS`]"""
    origin = models.CharField(max_length=300, default="", blank=True)
    """`https://placeto.example.org`, where the pages were when a person last saved it: links begin with it"""
    is_active = models.BooleanField(default=True)
    listens_since = models.DateTimeField(db_default=Now(), editable=False)
    """nothing that ended before is told"""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["project", "-created_at"], condition=LIVING, name="newest_hooks_of_project"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_hooks"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def event_names(self) -> tuple[str, ...]:
        """`events`, typed."""
        return tuple(map(str, self.events)) if isinstance(self.events, list) else ()

    @property
    def events_words(self) -> list[str]:
        """What it asks for, in words."""
        return [event_words(event) for event in self.event_names]

    @property
    def kind_words(self) -> str:
        """`Webhook` or `Apprise`."""
        return self.kind.capitalize()


class Delivery(Job):
    """One event that is told to one webhook, with the same body and number at each try.

        queued ──▶ sending ──▶ delivered
          ▲ ▲         ├──────▶ failed       refused, or not taken at any of the tries
          │ └─────────┤
          │           └──────▶ cancelled    its webhook was switched off
          └── a person sends it again

    Owners: queued → sending, sending → queued | delivered | failed | cancelled: the worker that has claimed it.
    queued → cancelled: the web. sending → queued, and → failed after too many workers were lost: a reaper. What is
    queued again waits until `next_try_at`.
    """

    SENDING: ClassVar[str] = "sending"
    WORKING: ClassVar[str] = SENDING
    DONE: ClassVar[str] = "delivered"
    QUEUE: ClassVar[str] = "cpu"
    WORK: ClassVar[str] = "webapp.hooks.sending:send_delivery"
    OWNER: ClassVar[str] = "webhook_id"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=32)
    key = models.CharField(max_length=64)
    """what happened: the same for each look at it, so that it is told once"""
    subject_id = models.UUIDField(null=True)
    """the run, comparison, search or policy; None of a test"""
    step_time_us = models.FloatField(null=True)
    """of a better placement"""
    body = models.TextField()
    """the JSON that is sent and signed"""
    tries = models.PositiveSmallIntegerField(default=0)
    """requests that were answered, or not, since it was last queued by an event or a person"""
    next_try_at = models.DateTimeField(null=True)
    """None: at once"""
    status_code = models.PositiveSmallIntegerField(null=True)
    """of the last answer"""
    answer = models.CharField(max_length=500, default="", blank=True)
    """the beginning of the last answer; text of the receiver's, for editors alone"""

    class Meta:
        ordering = ("-created_at",)
        verbose_name_plural = "deliveries"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["webhook", "event", "key"], name="event_once_a_webhook")
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["webhook", "-created_at", "id"], condition=LIVING, name="newest_deliveries_of_hook"),
            models.Index(fields=["status", "-created_at"], condition=LIVING, name="newest_deliveries_by_status"),
            models.Index(fields=["status", "heartbeat_at"], condition=LIVING, name="delivery_heartbeats"),
            models.Index(fields=["subject_id", "event"], condition=LIVING, name="deliveries_about_subject"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_deliveries"),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook.name}"

    @classmethod
    def waiting(cls) -> models.QuerySet[Any]:
        """Those whose next try is due."""
        return super().waiting().filter(models.Q(next_try_at=None) | models.Q(next_try_at__lte=Now()))

    @property
    def event_words(self) -> str:
        """What happened, in words."""
        return event_words(self.event)


class EventsRead(models.Model):
    """The one row that says until when ended work has been looked through for events."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"until {self.until}"
