"""How many uploads are checked at once: each check is a process of its own, beside the threads of the requests."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from webapp.capacity import BusyError

AT_ONCE = max(2, os.cpu_count() or 1)
LONGEST_WAIT_SECONDS = 5.0

_places = threading.BoundedSemaphore(AT_ONCE)


@contextmanager
def place_for_a_check() -> Iterator[None]:
    """Wait for a place. Raises BusyError where there is none in time."""
    if not _places.acquire(timeout=LONGEST_WAIT_SECONDS):
        raise BusyError("The server is checking other uploads. Send the file again in a few seconds.")
    try:
        yield
    finally:
        _places.release()
