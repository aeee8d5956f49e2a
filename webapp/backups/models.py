"""When the last backup was made, and when one failed."""

from django.db import models
from django.db.models.functions import Now


class BackupRecord(models.Model):
    """The one row about backups, which the status page shows."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    succeeded_at = models.DateTimeField(null=True)
    archive_bytes = models.BigIntegerField(default=0)
    """of the last one that succeeded"""
    failed_at = models.DateTimeField(null=True)
    fault = models.TextField(default="", blank=True)
    """why the last one failed; empty once a later one has succeeded"""

    def __str__(self) -> str:
        return f"last backup {self.succeeded_at}"

    @classmethod
    def succeeded(cls, archive_bytes: int) -> None:
        """Note a backup. Raises DatabaseError."""
        columns = {"succeeded_at": Now(), "archive_bytes": archive_bytes, "fault": ""}
        cls.objects.update_or_create(id=1, defaults=columns)

    @classmethod
    def failed(cls, fault: str) -> None:
        """Note a backup that failed. Raises DatabaseError."""
        cls.objects.update_or_create(id=1, defaults={"failed_at": Now(), "fault": fault})
