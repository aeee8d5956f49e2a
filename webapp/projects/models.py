"""Projects, and their members."""

import uuid
from typing import ClassVar

from django.db import models

from webapp.accounts.models import User
from webapp.jobs.deletion import DELETED, LIVING, Deletable


class Project(Deletable):
    """Graphs that belong together, with their runs."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    open_to_all = models.BooleanField(default=False)
    """whether everybody who has an account may see it"""

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["-created_at"], condition=LIVING, name="newest_projects"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_projects"),
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user's role in a project."""

    VIEWER: ClassVar[str] = "viewer"
    EDITOR: ClassVar[str] = "editor"
    OWNER: ClassVar[str] = "owner"
    ROLES: ClassVar[list[tuple[str, str]]] = [
        (VIEWER, "Viewer: sees everything"),
        (EDITOR, "Editor: also adds, starts, changes and deletes"),
        (OWNER, "Owner: also chooses members, and deletes the project"),
    ]

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=ROLES, default=VIEWER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("user__username",)
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["project", "user"], name="one_role_in_a_project"),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.project}"
