"""Events and saved states of jobs of every kind."""

from collections.abc import Iterable
from typing import ClassVar

from django.db import models
from django.db.models.functions import Now


class Event(models.Model):
    """One event of a job, stored as the JSON text that is sent."""

    id = models.BigAutoField(primary_key=True)
    job_id = models.UUIDField()
    """a job of any kind: ids are unique over all kinds"""
    seq = models.BigIntegerField()
    """from 1 on, without a gap in each job"""
    type = models.CharField(max_length=16)
    data = models.TextField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["job_id", "seq"], name="event_once_a_job")
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.seq} of {self.job_id}"


BYTES_BESIDE_TEXT = 150
"""of an event in the database: its other columns and its place in the index take 110 to 420, measured with SQLite"""


def bytes_of_events(events: Iterable[Event]) -> int:
    """About what they take on the disk."""
    return sum(len(event.data) + BYTES_BESIDE_TEXT for event in events)


class SavedState(models.Model):
    """The state from which the next worker resumes a job."""

    job_id = models.UUIDField(primary_key=True)
    seq = models.BigIntegerField(default=0)
    """of the last event before the state, for a run; 0 for a training"""
    identity = models.CharField(max_length=64, default="", blank=True)
    """of the training that can use it; empty for a run, whose row says all"""
    state = models.BinaryField()

    def __str__(self) -> str:
        return f"state of {self.job_id} after event {self.seq}"


class Turn(models.Model):
    """The last turn of an owner of jobs in a queue, and how long its jobs have worked lately."""

    queue = models.CharField(max_length=16)
    owner_id = models.UUIDField()
    """the id in the column `Job.OWNER`; the owner may be deleted since"""
    taken_at = models.DateTimeField()
    worked_seconds = models.FloatField(default=0.0)
    """of its jobs, less for what is longer ago: see `turns.recent_seconds`"""
    worked_at = models.DateTimeField(null=True)
    """when `worked_seconds` was written"""

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["queue", "owner_id"], name="turn_once_an_owner")
        ]

    def __str__(self) -> str:
        return f"{self.owner_id} in {self.queue} at {self.taken_at}"


class HealthMark(models.Model):
    """The one row that shows whether the database takes what is written."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    written_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"written at {self.written_at}"

    @classmethod
    def write(cls) -> None:
        """Write the row anew. Raises DatabaseError."""
        cls.objects.update_or_create(id=1, defaults={"written_at": Now()})
