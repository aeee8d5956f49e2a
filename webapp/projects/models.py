"""Projects."""

import uuid
from typing import ClassVar

from django.db import models

from webapp.jobs.deletion import DELETED, LIVING, Deletable


class Project(Deletable):
    """Graphs that belong together, with their runs."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["-created_at"], condition=LIVING, name="newest_projects"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_projects"),
        ]

    def __str__(self) -> str:
        return self.name
