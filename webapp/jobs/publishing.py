"""Messages for workers. They hold an id and nothing else; a lost one or one too many does no harm."""

import logging
import uuid

from celery import current_app as app
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from webapp.jobs.job import Job

log = logging.getLogger(__name__)

BROKER_FAULTS = (OperationalError, OSError, RedisError)
"""what says that the broker is away; the transport does not turn all of its client's errors into its own"""


def publish(model: type[Job], job_id: uuid.UUID) -> bool:
    """Tell the workers of the model's queue that a row is queued. False if the broker cannot be reached.

    Then a reaper publishes it once the broker is back.
    """
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=3)
            app.send_task(model.TASK, args=[str(job_id)], queue=model.QUEUE, retry=False, connection=connection)
    except BROKER_FAULTS as error:
        log.warning("the broker cannot be reached; %s %s waits for it: %s", model.__name__, job_id, error)
        return False
    return True


def waiting_messages(queue: str) -> int:
    """How many messages wait in `queue`. Raises one of `BROKER_FAULTS` where the broker cannot be reached."""
    with app.connection_for_read() as connection:
        connection.ensure_connection(max_retries=1, timeout=3)
        return int(connection.default_channel.queue_declare(queue, passive=False).message_count)


def broker_fault() -> str:
    """An empty string, or why the broker does not answer."""
    try:
        with app.connection_for_read() as connection:
            connection.ensure_connection(max_retries=1, timeout=3)
            connection.default_channel.client.ping()
    except Exception as error:  # whatever the client raises, the answer is "no", with its reason
        return f"{type(error).__name__}: {error}"
    return ""
