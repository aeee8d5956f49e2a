"""The task of the `execute` queue that measurements send."""

from celery import shared_task

from webapp.jobs.turns import do_next
from webapp.measurements.models import StepMeasurement


@shared_task(name=StepMeasurement.TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def measure(_measurement_id: str) -> None:
    """Do the job of the queue whose turn it is."""
    do_next(StepMeasurement.QUEUE)
