"""Searches for plans, what they have found, and the runs that show replicas of plans."""

from typing import Any, ClassVar

from django.db import models

from webapp.graphs.models import Graph
from webapp.jobs.deletion import DELETED, LIVING
from webapp.jobs.job import JobWithEvents
from webapp.json_field import JsonTextField
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.runs.with_cluster import WithCluster


class PlanSearch(WithCluster, JobWithEvents):
    """A search for the plans of a batch of one graph on one cluster.

        queued ──▶ running ──▶ done
          │ ▲         ├──────▶ failed
          │ └─────────┤
          └───────────┴──────▶ cancelled

    Owners: queued → running, running → done | failed | cancelled: the worker that has claimed it; a cancelled search
    keeps what it has found. queued → cancelled: the web, at once (running: it only sets `cancel_requested`). running →
    queued, and → failed after too many attempts, → cancelled if that was asked for and its worker died: a reaper. It
    saves no state: another attempt searches anew.
    """

    RUNNING: ClassVar[str] = "running"
    DONE: ClassVar[str] = "done"
    WORKING: ClassVar[str] = RUNNING
    QUEUE: ClassVar[str] = "gpu"
    WORK: ClassVar[str] = "webapp.plans.searching:search_plans"
    OWNER: ClassVar[str] = "project_id"
    COUNTS_AS_A_RUN: ClassVar[bool] = True

    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="plan_searches")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="plan_searches")
    """the graph's, which never changes"""
    second = models.ForeignKey(Graph, null=True, on_delete=models.SET_NULL, related_name="second_of")
    """the same step read at another batch; None: none, or deleted since"""
    second_name = models.CharField(max_length=200, default="", blank=True)
    """of that graph, empty without one; kept when it is deleted"""
    batch = models.BigIntegerField()
    """samples, of all replicas together"""
    seconds = models.FloatField()
    """the budget of wall time"""
    plan_rules = JsonTextField()
    """api.PlanRules.to_json()"""
    seed = models.BigIntegerField(default=0)
    drop_devices = models.BooleanField(default=False)
    """whether to ignore the devices that the graph's file fixes"""
    name = models.CharField(max_length=200, default="", blank=True)
    """that a person gave it; empty: pages show its `usual_title`"""
    best_batch_us = models.FloatField(null=True)
    """of the fastest plan so far"""
    plans_told = models.BigIntegerField(default=0)
    """plans among its events"""

    class Meta:
        verbose_name = "search for plans"
        verbose_name_plural = "searches for plans"
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["graph", "-created_at", "id"], condition=LIVING, name="newest_searches_of_graph"),
            models.Index(fields=["project", "-created_at", "id"], condition=LIVING, name="newest_searches_of_project"),
            models.Index(fields=["status", "-created_at"], condition=LIVING, name="newest_searches_by_status"),
            models.Index(fields=["status", "heartbeat_at"], condition=LIVING, name="search_heartbeats"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_searches"),
        ]

    def __str__(self) -> str:
        return self.name or self.usual_title

    def save(self, *arguments: Any, **named: Any) -> None:
        """Store it, with its graph's project."""
        self.project_id = self.project_id or self.graph.project_id
        super().save(*arguments, **named)

    @property
    def usual_title(self) -> str:
        """What it is, for people: the name that it has until a person gives it one."""
        return f"Plans for {self.graph.name}"

    @property
    def rules_words(self) -> str:
        """`1f1b, contiguous stages, sharded optimizer, all-reduce by ring`."""
        assert isinstance(self.plan_rules, dict)
        rules = self.plan_rules
        words = [
            str(rules["pipeline"]),
            "contiguous stages" if rules["contiguous"] else "",
            "stages run again" if rules["recompute"] == "stages" else "",
            "sharded optimizer" if rules["shards_optimizer"] else "",
            "" if rules["algorithm"] == "fastest" else f"all-reduce by {rules['algorithm']}",
        ]
        return ", ".join(filter(None, words))


class PlanReport(models.Model):
    """The report of a search, once it has ended with one."""

    search = models.OneToOneField(PlanSearch, on_delete=models.CASCADE, primary_key=True, related_name="report")
    content = JsonTextField()
    """as docs/formats/plans.md describes it"""

    def __str__(self) -> str:
        return f"report of {self.search_id}"


class OpenedReplica(models.Model):
    """A replica of a plan that somebody has opened: the run that shows it."""

    search = models.ForeignKey(PlanSearch, on_delete=models.CASCADE, related_name="opened")
    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="replica")
    plan = models.CharField(max_length=64)
    """`0`, the first one of the report's `plans`, or the name of a usual one"""
    replica = models.PositiveIntegerField()
    """from 0 on"""

    def __str__(self) -> str:
        return f"replica {self.replica} of plan {self.plan}"


class SizedGraph(models.Model):
    """A graph of micro-batches of a size between, or beyond, those that were read, made of one or two readings."""

    graph = models.OneToOneField(Graph, on_delete=models.CASCADE, primary_key=True, related_name="sized")
    first = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="+")
    samples = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.first_id} at {self.samples} samples"

    @property
    def readings(self) -> tuple[Graph, Graph]:
        """Both; one that has been deleted has no page any more."""
        return self.first, self.second
