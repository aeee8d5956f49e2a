"""Profiles: a worker runs a graph to measure how long its ops take."""

from pathlib import Path
from typing import ClassVar

from django.db import models

from webapp.graphs.models import Graph
from webapp.jobs.deletion import DELETED, LIVING
from webapp.jobs.job import ExecutedJob
from webapp.stored_paths import stored_path


class Profile(ExecutedJob):
    """One measurement of a graph's op times, on the worker's machine; its result is that of `api.profile`."""

    WORK: ClassVar[str] = "webapp.profiles.profiling:profile_graph"
    OWNER: ClassVar[str] = "graph__project_id"

    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="profiles")

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["graph", "-created_at"], condition=LIVING, name="newest_profiles_of_graph"),
            models.Index(fields=["status", "-created_at"], condition=LIVING, name="newest_profiles_by_status"),
            models.Index(fields=["status", "heartbeat_at"], condition=LIVING, name="profile_heartbeats"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_profiles"),
        ]

    def __str__(self) -> str:
        return f"profile of {self.graph.name}"

    @property
    def times_path(self) -> Path:
        """The RunMetadata on this machine, once it is done, named by the id."""
        return stored_path("profiles", f"{self.id}.pb")

    @property
    def paths(self) -> tuple[Path]:
        """All files that may belong to this row."""
        return (self.times_path,)
