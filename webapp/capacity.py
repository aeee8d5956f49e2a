"""What one process does at a time, beyond which a request waits or is refused."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

EXPLAINING_AT_ONCE = 2
"""simulations for pages, in compiled code that leaves the interpreter to other threads"""

_slots = threading.BoundedSemaphore(EXPLAINING_AT_ONCE)


class BusyError(Exception):
    """The server has no capacity for a request at the moment. Its text is a sentence for people."""


@contextmanager
def a_slot_to_explain() -> Iterator[None]:
    """A slot in which pages simulate: a request of `EXPLAINING` has one, others take it where they simulate."""
    with _slots:
        yield
