"""Placements that are kept beside the events of runs."""

import uuid
from typing import Any, ClassVar

from django.db import models

from webapp.graphs.models import Graph
from webapp.jobs.deletion import DELETED, LIVING, Deletable
from webapp.json_field import JsonTextField
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.runs.with_cluster import WithCluster

LONGEST_NAME = 200


class Placement(WithCluster, Deletable):
    """A placement of a graph on a cluster that was made by hand, uploaded, or kept from a run. It never changes.

    Only its name does. It is stored by group; the ops of groups that are on several devices are stored by op.
    """

    HAND: ClassVar[str] = "hand"
    RUN: ClassVar[str] = "run"
    UPLOAD: ClassVar[str] = "upload"
    ORIGINS: ClassVar[dict[str, str]] = {HAND: "by hand", RUN: "from a run", UPLOAD: "uploaded"}
    LARGE: ClassVar[tuple[str, ...]] = ("device_of_group", "device_of_split_op", "locked_groups")
    """columns that lists do not need"""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    graph = models.ForeignKey(Graph, on_delete=models.CASCADE, related_name="placements")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="placements")
    """the graph's, which never changes"""
    name = models.CharField(max_length=LONGEST_NAME)
    origin = models.CharField(max_length=8)
    """who made it: one of `ORIGINS`"""
    drop_devices = models.BooleanField(default=False)
    """whether it ignores the devices that the graph's file fixes"""
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="kept_placements")
    """on whose page it was kept; None: that run has been deleted"""
    run_seq = models.BigIntegerField(null=True)
    """the event of that run from whose placement it was made; None: it was uploaded, or made from `parent`"""
    parent = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="children")
    """the kept placement from which it was made; None: there is none, or it has been deleted"""
    device_of_group = JsonTextField()
    """[groups] device, or −1 where the ops of the group are on several"""
    device_of_split_op = JsonTextField(default=list)
    """[ops of such groups, in the order of ops] device"""
    split_groups = models.PositiveIntegerField(default=0)
    """how many groups are on several devices"""
    locked_groups = JsonTextField(default=list)
    """[locked groups], in their order"""
    step_time_us = models.FloatField()
    """simulated"""
    missing_bytes = models.BigIntegerField()
    """bytes that the worst device lacks; 0 if all fit"""
    peak_bytes = JsonTextField()
    """[devices]"""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["graph", "-created_at", "id"], condition=LIVING, name="newest_placements_of_graph"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_placements"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *arguments: Any, **named: Any) -> None:
        """Store it, with its graph's project."""
        self.project_id = self.project_id or self.graph.project_id
        super().save(*arguments, **named)

    @property
    def is_feasible(self) -> bool:
        """Whether it fits the devices' memory."""
        return self.missing_bytes == 0
