"""The base of graphs, policies, runs and measurements: a row that one worker at a time works on."""

import uuid
from typing import Any, ClassVar

from django.db import models
from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import Coalesce

from webapp.accounts.models import User
from webapp.accounts.visitor import acting
from webapp.jobs.deletion import Deletable
from webapp.jobs.models import Event, SavedState
from webapp.json_field import JsonTextField

CHANGED = {"revision": F("revision") + 1}


class Job(Deletable):
    """A row that a worker claims, works on, and ends. The row is the truth; messages of the broker are only hints.

        queued ──claim──▶ working ──end──▶ one of the model's last states
          ▲                  │
          └──give back───────┘   the reaper: no heartbeat, or its worker shuts down; too many fruitless attempts: failed

    Every transition is an update filtered on the old status (a worker's also on its claim) that must change exactly one
    row. The subclass draws the owner of each transition.
    """

    WORKING: ClassVar[str]
    """the status while a worker has it"""
    QUEUE: ClassVar[str]
    """whose workers do it"""
    WORK: ClassVar[str]
    """`module:function` that claims a job by its id and does it; it returns whether it could claim it"""
    OWNER: ClassVar[str]
    """the column with the id that takes turns with others in the queue, such as the project's, for a job that no user
    has started: users take turns with each other"""
    COUNTS_AS_A_RUN: ClassVar[bool] = False
    """whether it is one of the runs and searches of which a user may have so many at once"""
    PROGRESS: ClassVar[tuple[str, ...]] = ("status", "error")
    """the columns that `progress` reads"""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    status = models.CharField(max_length=16, default="queued")
    claim = models.UUIDField(null=True, editable=False)
    """a token, new for every attempt; a worker whose token is no longer in the row stores nothing"""
    worker = models.CharField(max_length=36, default="", editable=False)
    """the worker process that has it, which gives it back when it shuts down"""
    heartbeat_at = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0)
    fruitless_attempts = models.PositiveSmallIntegerField(default=0, editable=False)
    """attempts since the job last saved a later state: only these are limited"""
    cancel_requested = models.BooleanField(default=False)
    error = models.TextField(default="", blank=True)
    """one sentence for people, empty without an error"""
    revision = models.BigIntegerField(default=0, editable=False)
    """the number of changes of the row, heartbeats left out; every update that changes it includes `CHANGED`"""
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    """start of the first attempt"""
    finished_at = models.DateTimeField(null=True)
    started_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+", editable=False)
    """the user who acted when it was stored; None without accounts"""

    QUEUED: ClassVar[str] = "queued"
    FAILED: ClassVar[str] = "failed"
    CANCELLED: ClassVar[str] = "cancelled"

    class Meta:
        abstract = True

    def save(self, *arguments: Any, **named: Any) -> None:
        """Store the row; a new one with the user who acts."""
        if self._state.adding and self.started_by_id is None:
            self.started_by = acting().user
        super().save(*arguments, **named)

    @classmethod
    def clean_up_ended(cls) -> None:
        """Clean up what ended jobs have left. Called after each end of a job, and by a reaper.

        It may be called at any time.
        """

    @classmethod
    def waiting(cls) -> QuerySet[Any]:
        """The jobs that a worker may take now."""
        return cls._default_manager.filter(status=cls.QUEUED, cancel_requested=False)

    @classmethod
    def watched(cls, rows: QuerySet[Any]) -> list[uuid.UUID]:
        """The unfinished ones: the stream of an ended job is closed."""
        return list(rows.filter(status__in=(cls.QUEUED, cls.WORKING)).values_list("id", flat=True))

    @classmethod
    def owned(cls, rows: QuerySet[Any]) -> QuerySet[Any]:
        """`rows` with `turn_owner`, the id that takes turns: its user's, or else that of `OWNER`."""
        owned: QuerySet[Any] = rows.annotate(turn_owner=Coalesce("started_by_id", F(cls.OWNER)))
        return owned

    @classmethod
    def unended(cls) -> QuerySet[Any]:
        """Those that are queued or at work."""
        return cls._default_manager.filter(status__in=(cls.QUEUED, cls.WORKING))

    @property
    def has_ended(self) -> bool:
        """Whether it has reached one of its last statuses."""
        return self.status not in (self.QUEUED, self.WORKING)

    def progress(self) -> dict[str, str | int]:
        """The progress, for scripts."""
        return {"status": self.status, "error": self.error}


class JobWithEvents(Job):
    """A job that emits events and can resume from a saved state."""

    last_seq = models.BigIntegerField(default=0)
    """number of the last stored event"""
    event_bytes = models.BigIntegerField(default=0, editable=False)
    """about what its stored events take on the disk: `bytes_of_events`"""

    class Meta:
        abstract = True

    @property
    def events(self) -> QuerySet[Event]:
        """The stored events, in no order."""
        return Event.objects.filter(job_id=self.id)

    @property
    def saved_state(self) -> SavedState | None:
        """The state from which the next worker resumes."""
        return SavedState.objects.filter(job_id=self.id).first()

    @classmethod
    def left_states(cls) -> QuerySet[SavedState]:
        """The states of ended jobs of this kind."""
        ended = cls._default_manager.filter(id=OuterRef("job_id")).exclude(status__in=(cls.QUEUED, cls.WORKING))
        return SavedState.objects.filter(Exists(ended))


class StagedJob(Job):
    """A job that reports its progress in its row instead of events."""

    stage = models.CharField(max_length=200, default="", blank=True)
    """what the worker is doing"""
    stage_done = models.BigIntegerField(default=0)
    stage_total = models.BigIntegerField(default=0)
    """0 where it is not known"""

    PROGRESS: ClassVar[tuple[str, ...]] = ("status", "error", "stage", "stage_done", "stage_total")

    class Meta:
        abstract = True

    def progress(self) -> dict[str, str | int]:
        """The progress, for scripts; the stage only while it works: a job given back keeps its last one."""
        working = self.status == self.WORKING
        return {
            "status": self.status,
            "stage": self.stage if working else "",
            "done": self.stage_done if working else 0,
            "total": self.stage_total if working else 0,
            "error": self.error,
        }


class ExecutedJob(StagedJob):
    """A job of the `execute` queue, which runs TensorFlow on the machine with the data folder.

        queued ──▶ running ──▶ done
          │ ▲         ├──────▶ failed
          │ └─────────┤
          └───────────┴──────▶ cancelled

    Owners: queued → running, running → done | failed | cancelled: the worker that has claimed it. queued → cancelled:
    the web, at once (running: it only sets `cancel_requested`). running → queued, and → failed after too many attempts,
    → cancelled if that was asked for and its worker died: a reaper.
    """

    RUNNING: ClassVar[str] = "running"
    DONE: ClassVar[str] = "done"
    WORKING: ClassVar[str] = RUNNING
    QUEUE: ClassVar[str] = "execute"

    result = JsonTextField(null=True)
    """what the engine returned; None until it is done"""

    class Meta:
        abstract = True

    @property
    def is_done(self) -> bool:
        """Whether it has a result."""
        return self.status == self.DONE
