"""What a worker measures on its machine: times of a graph's ops, steps of its placements, the machine itself."""

from pathlib import Path
from typing import ClassVar

from django.db import models

from engine import api
from webapp.graphs.models import Graph
from webapp.jobs.deletion import DELETED, LIVING
from webapp.jobs.job import ExecutedJob
from webapp.json_field import JsonTextField
from webapp.runs.models import Run
from webapp.runs.with_cluster import WithCluster
from webapp.stored_paths import stored_path


class Profile(ExecutedJob):
    """One measurement of a graph's op times, on the worker's machine; its result is that of `api.profile`."""

    WORK: ClassVar[str] = "webapp.measuring.profiling:profile_graph"
    OWNER: ClassVar[str] = "graph__project_id"

    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="profiles")

    class Meta:
        db_table = "profiles_profile"
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


class Calibration(ExecutedJob):
    """One measurement of this machine; its result is the cluster JSON that it has written."""

    WORK: ClassVar[str] = "webapp.measuring.calibrating:calibrate_machine"
    OWNER: ClassVar[str] = "id"

    class Meta:
        db_table = "calibrations_calibration"
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["-created_at"], condition=LIVING, name="newest_calibrations"),
            models.Index(fields=["status", "-created_at"], condition=LIVING, name="newest_calibrations_by_status"),
            models.Index(fields=["status", "heartbeat_at"], condition=LIVING, name="calibration_heartbeats"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_calibrations"),
        ]

    def __str__(self) -> str:
        return "calibration of this machine"


class StepMeasurement(WithCluster, ExecutedJob):
    """Step times of a graph's placements on the worker's machine; its result is the report of `api.measure_many`."""

    WORK: ClassVar[str] = "webapp.measuring.placement_times:measure_placements"
    OWNER: ClassVar[str] = "graph__project_id"

    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="measurements")
    rounds = models.PositiveSmallIntegerField()
    steps = models.PositiveSmallIntegerField()
    """of each placement in a round"""

    class Meta:
        ordering = ("-created_at",)
        db_table = "measurements_stepmeasurement"
        verbose_name = "measurement"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["graph", "-created_at"], condition=LIVING, name="newest_measurements_of_graph"),
            models.Index(fields=["status", "-created_at"], condition=LIVING, name="newest_measurements_by_status"),
            models.Index(fields=["status", "heartbeat_at"], condition=LIVING, name="measurement_heartbeats"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_measurements"),
        ]

    def __str__(self) -> str:
        return f"placements of {self.graph.name}"

    @property
    def rounds_path(self) -> Path:
        """The file of the finished rounds on this machine, from which another worker goes on."""
        return stored_path("measurements", f"{self.id}.rounds")

    @property
    def paths(self) -> tuple[Path]:
        """All files that may belong to this row."""
        return (self.rounds_path,)


class MeasuredPlacement(models.Model):
    """One of the placements of a measurement, as it was when the measurement began."""

    measurement = models.ForeignKey(StepMeasurement, on_delete=models.CASCADE, related_name="placements")
    position = models.PositiveSmallIntegerField()
    """from 0 on; the report has them in this order"""
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="measured")
    """whose best placement it is; None: nobody's, or that run has been deleted"""
    words = models.CharField(max_length=300)
    """what it is; may hold a name that a person gave"""
    device_of_group = JsonTextField()
    """[groups]"""
    parts = JsonTextField(default=list)
    """the devices of the parts of split groups: see `SplitPlacement`"""

    class Meta:
        db_table = "measurements_measuredplacement"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["measurement", "position"], name="place_in_measurement")
        ]
        ordering = ("position",)

    def __str__(self) -> str:
        return self.words

    @property
    def placement(self) -> api.SplitPlacement:
        return api.SplitPlacement.from_json(self.device_of_group, self.parts)
