"""Comparisons and their runs."""

import uuid
from typing import Any, ClassVar

from django.db import models

from engine import api
from webapp.graphs.models import Graph
from webapp.jobs.deletion import DELETED, LIVING, Deletable
from webapp.json_field import JsonTextField
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.method_labels import method_labels
from webapp.runs.models import Run
from webapp.runs.stream_words import stream_words
from webapp.runs.with_cluster import WithCluster


class Comparison(WithCluster, Deletable):
    """Several methods on one graph and cluster, each with the same seeds and budget.

    It stores no state of its own: its state is that of its runs, which are ordinary runs.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="comparisons")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="comparisons")
    """the graph's, which never changes"""
    methods = JsonTextField()
    """[names], in the order chosen"""
    seeds = models.PositiveIntegerField()
    """runs of each method, with the seeds 0, 1, …"""
    evaluations = models.BigIntegerField()
    """the budget of each run"""
    seconds = models.FloatField(null=True)
    """the budget of wall time of each run, or None"""
    drop_devices = models.BooleanField(default=False)
    """whether to ignore the devices that the graph's file fixes"""
    name = models.CharField(max_length=200, default="", blank=True)
    """that a person gave it; empty: pages show its `usual_title`"""
    settings = JsonTextField(default=dict)
    """{method: its settings}, where they differ from the defaults"""
    stream = JsonTextField(null=True)
    """as a run has it; None: its methods make the step time small"""
    constraints = JsonTextField(null=True)
    """[rules] that all placements keep beside those of the graph's file; None: no others"""
    policy = models.ForeignKey(Policy, null=True, on_delete=models.SET_NULL, related_name="comparisons")
    """the trained policy for the methods that take one; None: none chosen, or deleted since"""
    policy_name = models.CharField(max_length=200, default="", blank=True)
    """of that policy, empty without one; kept when the policy is deleted"""
    policy_digest = models.CharField(max_length=64, default="", blank=True)
    """SHA-256 of its file"""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["graph", "-created_at", "id"], condition=LIVING, name="newest_comparisons_of_graph"),
            models.Index(
                fields=["project", "-created_at", "id"], condition=LIVING, name="newest_comparisons_of_project"
            ),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_comparisons"),
        ]

    def save(self, *arguments: Any, **named: Any) -> None:
        """Store it, with its graph's project."""
        self.project_id = self.project_id or self.graph.project_id
        super().save(*arguments, **named)

    def __str__(self) -> str:
        return self.name or self.usual_title

    @property
    def usual_title(self) -> str:
        """What it is, for people: the name that it has until a person gives it one."""
        return f"Comparison on {self.graph.name}"

    @property
    def stream_words(self) -> str:
        """`8 micro-batches, 1f1b, contiguous stages`; empty where step times are compared."""
        return stream_words(self.stream)

    @property
    def settings_of_methods(self) -> dict[str, dict[str, api.Json]]:
        """`settings`, typed."""
        assert isinstance(self.settings, dict)
        return {method: values for method, values in self.settings.items() if isinstance(values, dict)}

    @property
    def presets(self) -> list[tuple[str, str]]:
        """(label, preset) of each method whose preset differs from the default."""
        labels = method_labels()
        chosen = self.settings_of_methods.items()
        return [(labels.get(method, method), str(values["preset"])) for method, values in chosen if "preset" in values]


class ComparedRun(models.Model):
    """One run of a comparison."""

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="compared_runs")
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="compared")

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.run} in {self.comparison}"
