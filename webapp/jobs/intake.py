"""Whether a worker takes messages. Closed, it leaves them to others and finishes what it has."""

import threading
from collections.abc import Callable
from typing import Any

from celery import bootsteps


class Intake:
    """Open unless there is a reason against it; each reason is closed and opened by its owner. For several threads."""

    def __init__(self, *reasons: str) -> None:
        """Closed at first for `reasons`."""
        self._reasons = set(reasons)
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the worker takes messages."""
        return not self._reasons

    @property
    def closed_because(self) -> str:
        """The reasons, with commas between; empty while it is open."""
        with self._lock:
            return ", ".join(sorted(self._reasons))

    def close(self, reason: str) -> None:
        """Take no message from now on."""
        with self._lock:
            self._reasons.add(reason)

    def open(self, reason: str) -> None:
        """Take messages again unless another reason is left."""
        with self._lock:
            self._reasons.discard(reason)


class IntakeStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery is untyped
    """Asks the worker's intake before each message. Celery starts it anew after each connection to the broker."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        make_handler = consumer.create_task_handler
        consumer.create_task_handler = lambda *words, **named: _give_back_while_closed(make_handler(*words, **named))

    def start(self, consumer: Any) -> None:
        """Put the question before that of the channel's own limit."""
        limit = consumer.task_consumer.channel.qos
        within_limit = limit.can_consume
        limit.can_consume = lambda: intake.is_open and within_limit()


def _give_back_while_closed(handle: Callable[[Any], None]) -> Callable[[Any], None]:
    """`handle` for messages; one that was on its way when the intake closed goes back to its queue."""

    def handle_or_give_back(message: Any) -> None:
        if intake.is_open:
            handle(message)
        else:
            message.requeue()

    return handle_or_give_back


NOT_ASKED_YET = "the database has not answered yet"
DRAINING = "it is drained"
BROKER_STORES_NOTHING = "the broker stores nothing"
intake = Intake(NOT_ASKED_YET)
"""of this process's worker"""
