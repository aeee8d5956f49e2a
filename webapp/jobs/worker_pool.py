"""Celery's pool of processes, with a shorter wait for the next one.

Every job has a process of its own. Celery starts the next one when the last one's pipe closes; if the kernel has not
reaped that process yet, which is common on a busy machine, Celery looks again only after five seconds.
"""

from collections.abc import Callable

from celery.concurrency.asynpool import AsynPool
from celery.concurrency.prefork import TaskPool

LOOK_EVERY_SECONDS = 0.25


class Processes(AsynPool):  # type: ignore[misc]  # Celery is untyped
    """The pool's processes, watched more often."""

    @property
    def timers(self) -> dict[Callable[[], None], float]:
        """Function → the seconds between its calls."""
        return {self.maintain_pool: LOOK_EVERY_SECONDS}


class WorkerPool(TaskPool):  # type: ignore[misc]  # Celery is untyped
    """The pool of all workers (`CELERY_WORKER_POOL`)."""

    Pool = Processes
