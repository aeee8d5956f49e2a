"""The transport over Redis of the workers: what is no message is dropped with a line in the log.

kombu's own lets the fault of a single odd entry in a queue's list end the worker.
"""

import logging
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES
from kombu.transport.redis import Channel, Transport

from engine import api

log = logging.getLogger(__name__)


class CarefulChannel(Channel):
    """A channel that drops an entry that cannot be read."""

    def _brpop_read(self, **options: Any) -> Any:
        self.connection.delivers = False
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]  # kombu is untyped
        except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
            if self.connection.delivers:
                raise  # a fault of what handles it
            _dropped(error)
            raise Empty from None


class CarefulTransport(Transport):
    """A transport that drops an entry that is no message."""

    Channel = CarefulChannel
    delivers = False
    """whether the entry that was read last was handed on"""

    def _deliver(self, message: Any, queue: str) -> None:
        try:
            self.channels[0].Message(message, channel=self.channels[0])
        except Exception as error:  # whatever an odd entry makes kombu raise
            _dropped(error)
            return
        self.delivers = True
        super()._deliver(message, queue)  # type: ignore[no-untyped-call]  # kombu is untyped


def _dropped(error: Exception) -> None:
    log.warning(
        "an entry of a queue is no message and is dropped: %s", api.shortened(f"{type(error).__name__}: {error}")
    )


def install() -> None:
    """Use it for all addresses of Redis."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:CarefulTransport"
