"""What every kind of job keeps beside its row: events, and a state to go on from."""

from typing import ClassVar

from django.db import models


class Event(models.Model):
    """One event of a job, kept as the JSON text that is sent. A job that is deleted takes its events with it."""

    id = models.BigAutoField(primary_key=True)
    job_id = models.UUIDField()
    """of a job of any kind: ids are unique over all of them"""
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


class SavedState(models.Model):
    """What the next worker goes on from; of a job that ends without one, what is left of it."""

    job_id = models.UUIDField(primary_key=True)
    seq = models.BigIntegerField(default=0)
    """of the last event before it, where the job numbers its states"""
    identity = models.CharField(max_length=64, default="", blank=True)
    """of what it is a state: of no use to a job with another; empty where the job's row says all"""
    state = models.BinaryField()

    def __str__(self) -> str:
        return f"state of {self.job_id} after event {self.seq}"
