"""Sends what Redis is to get: at once, or in the background of a web server, whose requests then wait for no broker.

What is sent may be lost: a reaper publishes jobs without a message, and viewers look by themselves.
"""

import logging
import queue
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)

MOST_WAITING = 1000
"""what is to be sent at a time; more is dropped while the broker hangs"""
_waiting: queue.Queue[Callable[[], object]] | None = None


def send(sending: Callable[[], object]) -> None:
    """Call `sending`, which raises nothing; in the background after `send_in_background`."""
    if _waiting is None:
        sending()
        return
    try:
        _waiting.put_nowait(sending)
    except queue.Full:
        log.warning("the broker is too slow: a message is dropped")


def send_in_background() -> None:
    """Let a thread of this process send everything from now on."""
    global _waiting
    if _waiting is None:
        _waiting = queue.Queue(MOST_WAITING)
        threading.Thread(target=_send_all, args=(_waiting,), name="sending", daemon=True).start()


def _send_all(waiting: "queue.Queue[Callable[[], object]]") -> None:
    while True:
        sending = waiting.get()
        try:
            sending()
        except Exception:  # the thread must not end
            log.exception("a message could not be sent")
