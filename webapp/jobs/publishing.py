"""Sends messages to workers: that a job waits in a queue, and nothing else. A lost or repeated one does no harm."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from celery import current_app as app
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from webapp.jobs.background import send

log = logging.getLogger(__name__)

TASK = "jobs.do_next"
"""the name of the task of all messages; its one argument is the queue"""

LONGEST_ANSWER_SECONDS = 2.0
"""of a broker that is asked whether it is well"""
HEALTH_KEY = "placeto:health"
BROKER_FAULTS = (OperationalError, OSError, RedisError)
"""errors of an unreachable broker: the transport does not wrap all of its client's errors"""


def publish_soon(queue: str) -> None:
    """Publish that a row was queued, of a web server in the background."""
    send(partial(publish, queue))


def publish(queue: str) -> bool:
    """Tell the workers of `queue` that a job waits. False if the broker cannot be reached.

    A reaper publishes it once the broker is back.
    """
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=3)
            app.send_task(TASK, args=[queue], queue=queue, retry=False, connection=connection)
    except BROKER_FAULTS as error:
        log.warning("the broker cannot be reached; a job of the queue %s waits for it: %s", queue, error)
        return False
    return True


def waiting_messages(queue: str) -> int:
    """The number of messages in `queue`. Raises one of `BROKER_FAULTS` if the broker cannot be reached."""
    with app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1, timeout=3)
        return int(connection.default_channel.queue_declare(queue, passive=False).message_count)


def broker_fault() -> str:
    """Why the broker does not answer; an empty string if it does."""
    return _fault_of(lambda client: client.ping())


def broker_write_fault() -> str:
    """Why the broker stores nothing, such as a full or a read-only one; an empty string if it does."""
    return _fault_of(lambda client: client.set(HEALTH_KEY, "", ex=60))


def _fault_of(ask: Callable[[Any], object]) -> str:
    try:
        limits = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), LONGEST_ANSWER_SECONDS)
        with app.connection_for_read(transport_options=limits) as connection:
            connection.ensure_connection(max_retries=1, timeout=LONGEST_ANSWER_SECONDS)
            ask(connection.default_channel.client)
    except Exception as error:  # any error of the client means that the broker does not answer
        return f"{type(error).__name__}: {error}"
    return ""
