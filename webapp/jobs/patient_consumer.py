"""A worker's consumer that waits for a broker that takes no writes, such as a Redis during a failover.

Celery alone reconnects to such a broker several times a second, with a traceback each second, since it answers.
"""

import logging
import time
import warnings
from typing import Any

from celery.exceptions import CPendingDeprecationWarning
from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown

from webapp.jobs.intake import BROKER_STORES_NOTHING, intake
from webapp.jobs.publishing import broker_write_fault

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0


class PatientConsumer(Consumer):  # type: ignore[misc]  # Celery is untyped
    """Connects once the broker stores what it is sent; running jobs go on meanwhile, and stops are heard."""

    def connection_for_read(self, heartbeat: Any = None) -> Any:
        """The connection, for Celery."""
        connection = super().connection_for_read(heartbeat)
        shown = ""
        while fault := broker_write_fault():
            if fault != shown:
                log.warning("the broker stores nothing; this worker waits for it: %s", fault)
                intake.close(BROKER_STORES_NOTHING)
                shown = fault
            maybe_shutdown()
            time.sleep(RETRY_SECONDS)
        if shown:
            log.info("the broker stores messages again")
            intake.open(BROKER_STORES_NOTHING)
        return connection

    def on_connection_error_after_connected(self, exc: BaseException) -> None:
        """Celery's, without its announcement of what a later version does to running tasks: the settings decide."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CPendingDeprecationWarning)
            super().on_connection_error_after_connected(exc)
