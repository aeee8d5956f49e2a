"""Starts calibrations."""

from functools import partial

from django.db import transaction

from webapp.calibrations.models import Calibration
from webapp.jobs.publishing import publish_soon


def start() -> Calibration | None:
    """Queue a calibration; None if one is queued or running."""
    calibration = Calibration()
    with transaction.atomic():
        if Calibration.objects.filter(status__in=(Calibration.QUEUED, Calibration.RUNNING)).exists():
            return None
        calibration.save(force_insert=True)
        transaction.on_commit(partial(publish_soon, Calibration.QUEUE))
    return calibration
