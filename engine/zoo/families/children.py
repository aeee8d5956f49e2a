"""Shares work on a family's members among child processes: the parent's side."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event

from engine.child.parent import SECONDS_BETWEEN_PULSES, Limits, Pulse, ReportProgress, no_pulse, run_in_child
from engine.events import Json

CHILDREN = 2
"""children at once: each loads TensorFlow and takes a core"""
SECONDS_OF_A_MEMBER = 120.0
CHILD_MEMORY_BYTES = 12 * 1024**3


def in_children(
    function: str,
    orders: Sequence[dict[str, Json]],
    task: str,
    report_progress: ReportProgress,
    pulse: Pulse = no_pulse,
) -> dict[str, Json]:
    """Carry out the members' orders, shared among children, and return their joined texts.

    `report_progress` and `pulse` are called only in the caller's thread; an exception from either ends the children.
    """
    shares = [share for share in (orders[first::CHILDREN] for first in range(CHILDREN)) if share]
    if not shares:
        return {}
    report_progress(task, 0, len(orders))
    news = _News()
    with ThreadPoolExecutor(len(shares)) as pool:
        try:
            running = [pool.submit(_in_child, function, share, task, news) for share in shares]
            for future in running:
                future.add_done_callback(news.child_ended)
            _follow(running, news, lambda done: report_progress(task, done, len(orders)), pulse)
        except BaseException:
            news.stop()
            raise
    return {name: outcome for future in running for name, outcome in future.result().items()}


def _in_child(function: str, share: Sequence[dict[str, Json]], task: str, news: "_News") -> dict[str, Json]:
    limits = Limits(memory_bytes=CHILD_MEMORY_BYTES, seconds=SECONDS_OF_A_MEMBER * len(share))
    order: dict[str, Json] = {"members": list(share)}
    return run_in_child(
        function, order, limits, task=task, report_progress=news.member_done, pulse=news.end_if_stopped
    )[1]


def _follow(
    running: Sequence["Future[dict[str, Json]]"], news: "_News", report_done: Callable[[int], None], pulse: Pulse
) -> None:
    """Report each finished member until all children have ended. Raises the first child's error."""
    done = ended = 0
    while ended < len(running):
        if news.wait(pulse):
            done += 1
            report_done(done)
            continue
        ended += 1
        for future in running:
            if future.done():
                future.result()


class _EndedError(Exception):
    """Another child has failed, or the caller has stopped."""


class _News:
    """Passes news from the threads that wait for the children to the caller's thread."""

    def __init__(self) -> None:
        self._is_member: SimpleQueue[bool] = SimpleQueue()
        self._stopped = Event()

    def member_done(self, _name: str, _done: int, _total: int) -> None:
        """Note a finished member. Runs in a child's thread."""
        self.end_if_stopped()
        self._is_member.put(True)

    def end_if_stopped(self) -> None:
        """Raise _EndedError, which ends the child, if the caller has stopped. Runs in a child's thread."""
        if self._stopped.is_set():
            raise _EndedError

    def child_ended(self, _future: "Future[dict[str, Json]]") -> None:
        """Note the end of a child, so that the caller does not wait for ever. Runs in a child's thread."""
        self._is_member.put(False)

    def wait(self, pulse: Pulse) -> bool:
        """Wait for the next news, calling `pulse` meanwhile; true for a finished member, false for an ended child."""
        while True:
            pulse()
            with suppress(Empty):
                return self._is_member.get(timeout=SECONDS_BETWEEN_PULSES)

    def stop(self) -> None:
        """End the children at their next pulse."""
        self._stopped.set()
