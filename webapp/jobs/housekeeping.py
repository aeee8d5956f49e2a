"""Work without a row of its own, done in small steps beside the reaper: purging, thinning, giving back disk.

One worker on the machine with the data folder does it. A step commits before it returns, so that a kill loses at most
one step, and the next start finds the rest in the database.
"""

import threading
import time
from collections.abc import Callable
from functools import lru_cache

from django.conf import settings
from django.utils.module_loading import import_string

Chore = Callable[[], bool]
"""does one step, a fraction of a second at most; False if nothing was left to do"""


def do_chores(step: Callable[[Chore], bool], ended: threading.Event, seconds: float) -> bool:
    """Do steps of each chore in turn until none is left, for about `seconds`; True if some may be left.

    `step` calls a chore. After each step it rests as long as the step took: others write in between.
    """
    until = time.monotonic() + seconds
    for chore in chores():
        more = True
        while more:
            if ended.is_set() or time.monotonic() > until:
                return True
            began = time.monotonic()
            more = step(chore)
            ended.wait(time.monotonic() - began)
    return False


@lru_cache(maxsize=1)
def chores() -> tuple[Chore, ...]:
    """The chores of the settings."""
    return tuple(import_string(path) for path in settings.CHORES)
