"""The version of the database, the workers that live, and the machines that they offer."""

from django.db import models


class DatabaseVersion(models.Model):
    """The one row with the version of the code that migrated the database last."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    version = models.CharField(max_length=32)
    """`api.VERSION`"""
    schema = models.CharField(max_length=8)
    """digest of the names of the migrations"""
    recorded_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.version} (schema {self.schema})"


class Worker(models.Model):
    """A worker process, as it last reported itself."""

    identity = models.CharField(max_length=36, primary_key=True)
    """the name that jobs have in their column `worker`"""
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    queues = models.CharField(max_length=255)
    """names, with commas between"""
    version = models.CharField(max_length=32)
    schema = models.CharField(max_length=8)
    takes_nothing_because = models.CharField(max_length=100, default="", blank=True)
    """why it takes no jobs at the moment; empty while it takes them"""
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    """its last sign of life"""

    class Meta:
        ordering = ("host", "queues", "started_at")

    def __str__(self) -> str:
        return f"{self.queues} on {self.host}, process {self.pid}"


class OfferedMachine(models.Model):
    """The measured machine of a worker, or why it cannot be offered. Most workers have no row."""

    identity = models.CharField(max_length=36, primary_key=True)
    """the worker's; no foreign key, so that older versions can remove workers"""
    cluster = models.TextField(blank=True)
    """cluster JSON; empty if there is a fault"""
    fault = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"machine of the worker {self.identity}"
