"""Stops a worker within seconds of a stop signal, whatever its pool's processes are doing, and drains it.

    signal ─▶ give the jobs back ─▶ Celery's cold shutdown ─┬▶ ended
                                                            └▶ kill the pool ─▶ end without Celery

Celery alone waits for a pool process that does not see its signal: one that is in compiled code, for example, where the
exit becomes another error. A job that was given back is no longer that process's, so nothing that it does is stored.

The drain signal is Celery's warm shutdown: the worker takes nothing new, and ends when its jobs are done, however long
that takes. A stop signal ends that, too.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from celery.worker import state as celery_state

from webapp.processes import DRAIN_SIGNAL, descendants

log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
KILL_POOL_AFTER_SECONDS = 6.0
END_AFTER_SECONDS = 6.0
"""after the pool was killed"""
EXIT_STATUS = 1
"""as of Celery's cold shutdown"""


class BoundedStop:
    """Makes every stop signal of a worker's main process a cold shutdown that ends, and the drain signal a warm one."""

    def __init__(self, worker: Any, give_back: Callable[[], None]) -> None:
        """`worker` is Celery's; `give_back` queues again what this worker has."""
        self._worker, self._give_back = worker, give_back
        self.drains = False
        """whether the worker ends when its jobs are done"""
        self._main_process = os.getpid()
        self._guard = threading.Thread(target=self._see_that_it_ends, name="bounded-stop", daemon=True)

    def install(self) -> None:
        """Replace Celery's handlers, of which the one for SIGQUIT is the cold shutdown. Main thread."""
        self._cold_shutdown: Any = signal.getsignal(signal.SIGQUIT)
        for number in STOP_SIGNALS:
            signal.signal(number, self._stop)
        signal.signal(DRAIN_SIGNAL, self._drain)

    def _drain(self, _number: int, _frame: FrameType | None) -> None:
        if os.getpid() == self._main_process and self._guard.ident is None:
            self.drains = True
            celery_state.should_stop = os.EX_OK

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._main_process or self._guard.ident is not None:
            return
        self.drains = False
        self._guard.start()
        self._cold_shutdown(number, frame)

    def _see_that_it_ends(self) -> None:
        # In a thread of its own: a locked database must not delay the end.
        threading.Thread(target=self._give_back, name="give-back", daemon=True).start()
        time.sleep(KILL_POOL_AFTER_SECONDS)  # a worker that ends ends this thread, too
        for process_id in self._pool_processes():
            log.warning("process %d of the pool does not end; it is killed", process_id)
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        time.sleep(END_AFTER_SECONDS)
        log.warning("the worker does not end; it ends without a clean-up")
        os._exit(EXIT_STATUS)

    def _pool_processes(self) -> list[int]:
        pool = getattr(self._worker.pool, "_pool", None)
        processes = {process.pid for process in getattr(pool, "_pool", ())}
        return sorted(processes.intersection(descendants(self._main_process)))
