"""Additions to every Celery worker: a name, its row among the workers, a reaper, pool children that die with it.

The worker that reads graphs, which has the data folder, also keeps a warm process, from which reading children are
forked (`api.keep_warm`), and does the chores of `housekeeping.py`.
"""

import logging
import os
import threading
import uuid
from pathlib import Path
from typing import Any

from celery import bootsteps
from celery.signals import worker_init, worker_process_init, worker_shutdown
from django.conf import settings
from django.db import DatabaseError, connections

from engine import api
from webapp.incidents import note_incident
from webapp.jobs.bounded_stop import BoundedStop
from webapp.jobs.claim import WORKER_VARIABLE
from webapp.jobs.housekeeping import Chore, do_chores
from webapp.jobs.intake import DRAINING, NOT_ASKED_YET, IntakeStep, intake
from webapp.jobs.reaper import give_back_all_of, job_models, publish_queued, reap
from webapp.jobs.working_processes import WorkingProcesses
from webapp.processes import die_with_parent
from webapp.workers.presence import OTHER_VERSION, Presence
from webapp.workers.version import code_version

log = logging.getLogger(__name__)

READING_QUEUE = "cpu"
"""the queue whose worker reads graphs"""
MOST_READINGS_AT_ONCE = 8
_no_connection = threading.Lock()
"""Held while this process has a database connection open, and while it forks: SQLite's locks do not survive a fork."""


class ReaperStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
    """Runs the reaper in a thread of the worker's parent process while the worker runs."""

    requires = ("celery.worker.components:Pool",)
    """so that it stops first: the pool may wait for a job that is to be given back"""

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        os.environ[WORKER_VARIABLE] = str(uuid.uuid4())
        queues = parent.app.amqp.queues.consume_from
        self._presence = Presence.of_this_process(os.environ[WORKER_VARIABLE], queues)
        code_version()  # of the code that is loaded now, before the pool's processes are forked
        self._ended = threading.Event()
        self._reads_graphs = READING_QUEUE in queues
        self._working = WorkingProcesses()
        self._keep_warm()  # before the pool's processes are forked, so that they can use it
        os.register_at_fork(
            before=_no_connection.acquire,
            after_in_parent=_no_connection.release,
            after_in_child=_no_connection.release,
        )
        self._thread = threading.Thread(target=self._run, name="reaper", daemon=True)
        self._bounded_stop = BoundedStop(parent, self._leave)

    def start(self, _parent: Any) -> None:
        """Start the reaper; its first round is at once."""
        self._bounded_stop.install()
        self._thread.start()

    def stop(self, _parent: Any) -> None:
        """Stop after the current round, and give back this worker's jobs at once; a drained worker finishes them."""
        if self._bounded_stop.drains:
            log.info("draining: this worker takes nothing new, and ends when its jobs are done")
            intake.close(DRAINING)
            worker_shutdown.connect(self._end, weak=False)  # sent after the end of the pool
        else:
            self._end()

    def _end(self, **_: Any) -> None:
        self._ended.set()
        self._leave()
        api.end_warm()

    def terminate(self, parent: Any) -> None:
        """The same as `stop`: a child that still works on a job that was given back has lost its claim."""
        self.stop(parent)

    def _run(self) -> None:
        while not self._ended.is_set():
            busy = False
            try:
                do_round(self._presence)
                self._keep_warm()
                self._working.end_hanging()
                if self._reads_graphs and intake.is_open:
                    busy = do_chores(do_step, self._ended, settings.HEARTBEAT_SECONDS)
            except Exception:  # without a reaper, jobs of lost workers would wait for ever
                log.exception("a round of the reaper failed; it tries again")
            self._ended.wait(0 if busy else settings.HEARTBEAT_SECONDS)

    def _leave(self) -> None:
        leave(self._presence)

    def _keep_warm(self) -> None:
        """Start the warm process if it does not run, and note if it had ended."""
        if self._reads_graphs and not self._ended.is_set() and api.keep_warm():
            note_incident(Path(settings.DATA_FOLDER), "the process that forks readings ended, and was started anew")


def do_round(presence: Presence) -> None:
    """Report this worker, reap and publish once, and close the database connections before any other thread may fork.

    A worker of another version than the database's only reports itself.
    """
    with _no_connection:
        try:
            same_version = presence.has_version_of_database()
            _open_or_close(same_version)
            presence.report(intake.closed_because)
            for model in job_models() if same_version else ():
                reap(model)
                publish_queued(model)
            if intake.is_open and settings.WORKER_FILE:
                settings.WORKER_FILE.touch()
        except DatabaseError:
            log.warning("the reaper could not reach the database; it tries again", exc_info=True)
        finally:
            connections.close_all()


def do_step(chore: Chore) -> bool:
    """One step of a chore, which no fork interrupts; False if nothing was left, or the database does not answer."""
    with _no_connection:
        try:
            return chore()
        except DatabaseError:
            log.warning("a chore could not reach the database; it tries again", exc_info=True)
            return False
        finally:
            connections.close_all()


def _open_or_close(same_version: bool) -> None:
    if same_version:
        intake.open(OTHER_VERSION)
    else:
        intake.close(OTHER_VERSION)
    intake.open(NOT_ASKED_YET)


def leave(presence: Presence) -> None:
    """Queue this worker's jobs again, so that nobody has to wait for a reaper, and remove its row."""
    with _no_connection:
        try:
            give_back_all_of(presence.identity)
            presence.leave()
        except DatabaseError:
            log.warning("could not give back what this worker had; a reaper will", exc_info=True)
        finally:
            connections.close_all()


def _die_with_parent(**_: Any) -> None:
    """End a pool child when its worker is killed (Linux; elsewhere the child loses its claim)."""
    die_with_parent(os.getppid())


def readings_at_once() -> int:
    """The readings that one worker does at once: one a core, as long as the memory for them is there."""
    fitting = settings.READING_MEMORY_BYTES // api.Limits().memory_bytes
    return max(1, min(MOST_READINGS_AT_ONCE, os.cpu_count() or 1, fitting))


def _read_several_at_once(sender: Any, **_: Any) -> None:
    """Give a worker that only reads graphs several processes; each waits for its share of the memory."""
    if set(sender.app.amqp.queues.consume_from) == {READING_QUEUE}:
        sender.concurrency = readings_at_once()


def install(app: Any) -> None:
    """Install the additions in `app`'s workers."""
    app.steps["worker"].add(ReaperStep)
    app.steps["consumer"].add(IntakeStep)
    worker_init.connect(_read_several_at_once, weak=False)
    worker_process_init.connect(_die_with_parent, weak=False)
