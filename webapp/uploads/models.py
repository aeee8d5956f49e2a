"""Uploads in parts: how far each has arrived."""

import uuid
from pathlib import Path
from typing import ClassVar

from django.db import models

from webapp.jobs.deletion import DELETED, LIVING, Deletable
from webapp.projects.models import Project
from webapp.stored_paths import stored_path

FOLDER = "uploads"
"""in the data folder"""


class PartialUpload(Deletable):
    """A file that arrives in parts. It is deleted once a graph is made of it, and a while after its last part."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="partial_uploads")
    name = models.CharField(max_length=200)
    """the file's, for people"""
    total_bytes = models.BigIntegerField()
    received_bytes = models.BigIntegerField(default=0)
    """its file has them for certain"""
    sha256 = models.CharField(max_length=64, default="", blank=True)
    """of the whole file, as the sender says; empty: it does not"""
    created_at = models.DateTimeField(auto_now_add=True)
    touched_at = models.DateTimeField(auto_now_add=True)
    """when its last part arrived"""

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["project", "-created_at"], condition=LIVING, name="newest_uploads_of_project"),
            models.Index(fields=["touched_at"], condition=LIVING, name="uploads_by_last_part"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_uploads"),
        ]

    def __str__(self) -> str:
        return f"{self.received_bytes} of {self.total_bytes} bytes of {self.name}"

    @property
    def path(self) -> Path:
        """The file on this machine, named by the id."""
        return stored_path(FOLDER, f"{self.id}.part")

    @property
    def paths(self) -> tuple[Path]:
        """All files that may belong to this row."""
        return (self.path,)

    @property
    def is_complete(self) -> bool:
        """Whether all parts have arrived."""
        return self.received_bytes == self.total_bytes
