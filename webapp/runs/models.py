"""Runs, their answers, and summaries of their events."""

from typing import Any, ClassVar

from django.db import models

from engine import api
from webapp.graphs.models import Graph
from webapp.jobs.deletion import DELETED, LIVING
from webapp.jobs.job import JobWithEvents
from webapp.json_field import JsonTextField
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.cluster_words import links_words
from webapp.runs.method_labels import method_labels
from webapp.runs.stream_words import stream_words
from webapp.runs.with_cluster import WithCluster

NOT_THINNED = models.Q(kept_events=None)


class Run(WithCluster, JobWithEvents):
    """One placer on one graph and cluster.

        queued ──▶ running ──▶ done
          │ ▲         ├──────▶ failed
          │ └─────────┤
          └───────────┴──────▶ cancelled

    Owners: queued → running, running → done | failed | cancelled: the worker that has claimed it. queued → cancelled:
    the web, at once (running: it only sets `cancel_requested`, which the worker reads). running → queued, and → failed
    after too many attempts, → cancelled if that was asked for and its worker died: a reaper.
    """

    RUNNING: ClassVar[str] = "running"
    DONE: ClassVar[str] = "done"
    WORKING: ClassVar[str] = RUNNING
    QUEUE: ClassVar[str] = "gpu"
    WORK: ClassVar[str] = "webapp.runs.placing:place_run"
    OWNER: ClassVar[str] = "project_id"
    COUNTS_AS_A_RUN: ClassVar[bool] = True

    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="runs")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="runs")
    """the graph's, which never changes: a project lists its runs without looking at its graphs"""
    method = models.CharField(max_length=64)
    settings = JsonTextField()
    """the method's settings, such as {"preset": "paper"}"""
    evaluations = models.BigIntegerField()
    """the budget"""
    seconds = models.FloatField(null=True)
    """the budget of wall time, or None"""
    seed = models.BigIntegerField()
    drop_devices = models.BooleanField(default=False)
    """whether to ignore the devices that the graph's file fixes"""
    prefer = models.CharField(max_length=40, default="fastest")
    """`fastest` or `simplest=1%`: which placement its page offers first, and how much slower the simplest may be"""
    stream = JsonTextField(null=True)
    """{"micro_batches", "pipeline", "contiguous"} of a run for the throughput of a stream, whose times are periods;
    None: for the time of one step"""
    constraints = JsonTextField(null=True)
    """[rules] that its placements keep beside those of the graph's file; None: no others"""
    name = models.CharField(max_length=200, default="", blank=True)
    """that a person gave it; empty: pages show its `usual_title`"""
    policy = models.ForeignKey(Policy, null=True, on_delete=models.SET_NULL, related_name="runs")
    """the trained policy that it starts from; None: none, or deleted since the run ended"""
    policy_name = models.CharField(max_length=200, default="", blank=True)
    """of that policy, empty without one; kept when the policy is deleted"""
    policy_digest = models.CharField(max_length=64, default="", blank=True)
    """SHA-256 of its file"""
    evaluations_used = models.BigIntegerField(default=0)
    best_step_time_us = models.FloatField(null=True)
    verdict = JsonTextField(null=True, editable=False)
    """the engine's, on a run that found no placement that fits; None otherwise: then its answer's report has one"""
    kept_events = models.BigIntegerField(null=True, editable=False)
    """the number of events that its thinning has left; None: not thinned"""

    PROGRESS: ClassVar[tuple[str, ...]] = ("status", "error", "kept_events")

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["graph", "-created_at", "id"], condition=LIVING, name="newest_runs_of_graph"),
            models.Index(fields=["project", "-created_at", "id"], condition=LIVING, name="newest_runs_of_project"),
            models.Index(fields=["policy", "-created_at"], condition=LIVING, name="newest_runs_of_policy"),
            models.Index(fields=["status", "-created_at"], condition=LIVING, name="newest_runs_by_status"),
            models.Index(fields=["status", "heartbeat_at"], condition=LIVING, name="run_heartbeats"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_runs"),
            models.Index(fields=["finished_at"], condition=LIVING & NOT_THINNED, name="runs_to_thin"),
        ]

    def __str__(self) -> str:
        return self.name or self.usual_title

    def save(self, *arguments: Any, **named: Any) -> None:
        """Store it, with its graph's project."""
        self.project_id = self.project_id or self.graph.project_id
        super().save(*arguments, **named)

    @classmethod
    def clean_up_ended(cls) -> None:
        """Delete the checkpoints of ended runs."""
        cls.left_states().delete()

    @property
    def is_thinned(self) -> bool:
        """Whether some of its events are gone."""
        return self.kept_events is not None and self.kept_events < self.last_seq

    def progress(self) -> dict[str, str | int]:
        """The progress, for scripts; of a thinned run also how many events are left."""
        thinned = {"kept_events": self.kept_events} if self.is_thinned and self.kept_events is not None else {}
        return {**super().progress(), **thinned}

    @property
    def usual_title(self) -> str:
        """What it does, for people: the name that it has until a person gives it one."""
        return f"{self.method_label} on {self.graph.name}"

    @property
    def stream_words(self) -> str:
        """`8 micro-batches, 1f1b, contiguous stages, stages run again`; empty for a run for the time of one step."""
        return stream_words(self.stream)

    @property
    def links_words(self) -> str:
        """How the devices are linked, in words."""
        return links_words(self.cluster)

    @property
    def method_label(self) -> str:
        """The method's label; its name if the registry no longer has it."""
        return method_labels().get(self.method, self.method)


class Answer(models.Model):
    """The best feasible placement of a run so far."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="answer")
    step_time_us = models.FloatField()
    device_of_group = JsonTextField()
    """[groups]"""
    parts = JsonTextField(default=list)
    """the devices of the parts of split groups: see `SplitPlacement`"""
    report = JsonTextField(null=True)
    """the engine's report; None while the run works, or if it failed"""

    def __str__(self) -> str:
        return f"{self.step_time_us} µs"

    @property
    def placement(self) -> api.SplitPlacement:
        return api.SplitPlacement.from_json(self.device_of_group, self.parts)

    @property
    def simplest(self) -> api.SplitPlacement | None:
        """The simplest placement near it; None while the run works, and of a run before version 0.3.0."""
        report = self.report if isinstance(self.report, dict) else {}
        return api.simplest_of_report(report) if isinstance(report.get("simplest"), dict) else None


class RunStart(models.Model):
    """A run's start placement and the groups pinned in it."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="start")
    device_of_group = JsonTextField()
    """[groups]"""
    parts = JsonTextField(default=list)
    """the devices of the parts of split groups: see `SplitPlacement`"""
    pinned_groups = JsonTextField(default=list)
    """[pinned groups]"""
    words = models.CharField(max_length=300)
    """what it is, such as `episode 17, changed by hand`; may hold a name that a person gave"""
    from_run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="continued")
    """on whose page it was made; None: that run has been deleted"""
    from_token = models.CharField(max_length=120, default="", blank=True)
    """of the placement there, before it was changed by hand"""

    def __str__(self) -> str:
        return self.words

    @property
    def placement(self) -> api.SplitPlacement:
        return api.SplitPlacement.from_json(self.device_of_group, self.parts)

    @property
    def pins(self) -> dict[int, int]:
        """Pinned group → its device, or SPLIT."""
        assert isinstance(self.pinned_groups, list)
        devices = self.placement.device_of_group
        return {group: devices[group] for group in self.pinned_groups if isinstance(group, int)}


class RunSummary(models.Model):
    """A summary of a run's events, so that a comparison need not read them again."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="summary")
    seq = models.BigIntegerField()
    """of the last event in it"""
    content = JsonTextField()
    """api.ComparisonListener.to_json()"""

    def __str__(self) -> str:
        return f"summary of {self.run_id} up to event {self.seq}"


class KeptPolicy(models.Model):
    """An `engine.api.KeptPolicy`, to compute a run's decisions again; deleted with the run, or as it is thinned."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="kept_policy")
    policy = models.BinaryField()
    """at most a few megabytes, most often some hundred kilobytes"""

    class Meta:
        db_table = "decisions_keptpolicy"

    def __str__(self) -> str:
        return f"policy of run {self.run_id}"
