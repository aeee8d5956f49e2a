"""Ends processes of a worker's pool that hang: no other job would begin, and the worker itself looks well.

A process that works on a job renews the job's heartbeat, and one that waits for memory looks for it all the time.
"""

import logging
import os
import signal
import time
from pathlib import Path

from celery.worker import state
from django.conf import settings

from webapp.hanging import Watched
from webapp.incidents import note_incident
from webapp.processes import descendants, send

log = logging.getLogger(__name__)


class WorkingProcesses:
    """The processes of this worker's pool that have a job, looked at with each heartbeat of the worker."""

    def __init__(self) -> None:
        self._watched: dict[int, Watched] = {}

    def end_hanging(self) -> None:
        """Kill each that has done nothing for as long as a lost worker; a reaper gives its job back."""
        now = time.monotonic()
        working = _ids_of_working()
        self._watched = {process: self._watched.get(process, Watched(process, now)) for process in working}
        for process, watched in self._watched.items():
            idle_seconds = watched.idle_seconds(now, settings.HEARTBEAT_SECONDS)
            if idle_seconds >= settings.STALE_AFTER_SECONDS:
                sentence = f"process {process} of a worker hung: it did nothing for {idle_seconds:.0f} s and was ended"
                log.warning("%s; its job is tried again", sentence)
                note_incident(Path(settings.DATA_FOLDER), sentence)
                for each in (*descendants(process), process):
                    send(each, signal.SIGKILL)


def _ids_of_working() -> set[int]:
    """The children of this process that have accepted a message."""
    try:
        processes = {request.worker_pid for request in tuple(state.active_requests)}
    except RuntimeError:  # the worker's main thread has just changed it
        return set()
    own = set(descendants(os.getpid()))
    return {process for process in processes if process in own}
