"""What every Celery worker process of ours has beside its pool: a name, a reaper, children that die with it.

The one that reads graphs also keeps a process from which those that read them are forked (`api.keep_warm`).
"""

import logging
import os
import threading
import uuid
from typing import Any

from celery import bootsteps
from celery.signals import worker_process_init
from django.conf import settings
from django.db import DatabaseError, connections

from engine import api
from webapp.jobs.claim import WORKER_VARIABLE
from webapp.jobs.reaper import give_back_all_of, job_models, publish_queued, reap
from webapp.processes import die_with_parent

log = logging.getLogger(__name__)

READING_QUEUE = "cpu"
"""whose worker reads graphs"""
_no_connection = threading.Lock()
"""Held while this process has a database connection open, and while it forks: SQLite's locks do not survive a fork."""


class ReaperStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
    """Runs the reaper in a thread of the worker's parent process, as long as the worker runs."""

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        os.environ[WORKER_VARIABLE] = str(uuid.uuid4())
        self._ended = threading.Event()
        self._reads_graphs = READING_QUEUE in parent.app.amqp.queues.consume_from
        self._keep_warm()  # before the pool's processes are forked, which then can ask it
        os.register_at_fork(
            before=_no_connection.acquire,
            after_in_parent=_no_connection.release,
            after_in_child=_no_connection.release,
        )
        self._thread = threading.Thread(target=self._run, name="reaper", daemon=True)

    def start(self, _parent: Any) -> None:
        """Begin; the first round is at once."""
        self._thread.start()

    def stop(self, _parent: Any) -> None:
        """End after the round that is being done; whatever this worker still had is free for another one at once."""
        self._ended.set()
        give_back()
        api.end_warm()

    def terminate(self, parent: Any) -> None:
        """The same: a claim that is given back is lost to a child that still works on it."""
        self.stop(parent)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                do_round()
                self._keep_warm()
            except Exception:  # without a reaper, runs of lost workers would wait for ever
                log.exception("a round of the reaper failed; it tries again")
            self._ended.wait(settings.HEARTBEAT_SECONDS)

    def _keep_warm(self) -> None:
        """See that graphs can be read without loading TensorFlow first."""
        if self._reads_graphs and not self._ended.is_set():
            api.keep_warm()


def do_round() -> None:
    """Reap and publish once, on database connections that are closed again before any other thread may fork."""
    with _no_connection:
        try:
            for model in job_models():
                reap(model)
                publish_queued(model)
        except DatabaseError:
            log.warning("the reaper could not reach the database; it tries again", exc_info=True)
        finally:
            connections.close_all()


def give_back() -> None:
    """Queue again what this worker had, so that another one, or the next start, need not wait for the reaper."""
    with _no_connection:
        try:
            give_back_all_of(os.environ[WORKER_VARIABLE])
        except DatabaseError:
            log.warning("could not give back what this worker had; a reaper will", exc_info=True)
        finally:
            connections.close_all()


def _die_with_parent(**_: Any) -> None:
    """A pool child whose worker is killed must not go on working (Linux; elsewhere its claim is lost instead)."""
    die_with_parent(os.getppid())


def install(app: Any) -> None:
    """Give `app`'s workers these parts."""
    app.steps["worker"].add(ReaperStep)
    worker_process_init.connect(_die_with_parent, weak=False)
