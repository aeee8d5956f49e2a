"""Calibrations: a worker measures its machine, and writes it as a cluster."""

from typing import ClassVar

from django.db import models

from webapp.jobs.deletion import DELETED, LIVING
from webapp.jobs.job import ExecutedJob


class Calibration(ExecutedJob):
    """One measurement of this machine; its result is the cluster JSON that it has written."""

    WORK: ClassVar[str] = "webapp.calibrations.calibrating:calibrate_machine"
    OWNER: ClassVar[str] = "id"

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["-created_at"], condition=LIVING, name="newest_calibrations"),
            models.Index(fields=["status", "-created_at"], condition=LIVING, name="newest_calibrations_by_status"),
            models.Index(fields=["status", "heartbeat_at"], condition=LIVING, name="calibration_heartbeats"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_calibrations"),
        ]

    def __str__(self) -> str:
        return "calibration of this machine"
