"""Seconds of the processor in the place of those on the wall, so that what else runs takes nothing from a method."""

import time
from types import ModuleType, SimpleNamespace

import engine.problem
import engine.search.local_search


def count_processor_seconds(*others: ModuleType) -> None:
    """From now on budgets of this process, and what `others` measure with `time.monotonic`, count processor time."""
    clock = SimpleNamespace(monotonic=time.process_time)
    for module in (engine.problem, engine.search.local_search, *others):
        vars(module)["time"] = clock
