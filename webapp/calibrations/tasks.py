"""The task of the `execute` queue that calibrations send."""

from celery import shared_task

from webapp.calibrations.models import Calibration
from webapp.jobs.turns import do_next


@shared_task(name=Calibration.TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def calibrate(_calibration_id: str) -> None:
    """Do the job of the queue whose turn it is."""
    do_next(Calibration.QUEUE)
