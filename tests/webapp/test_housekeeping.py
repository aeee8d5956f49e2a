"""Chores are done in small steps, each on its own, and leave time to others."""

import threading
import time

import pytest

from webapp.jobs import housekeeping
from webapp.jobs.housekeeping import Chore, chores, do_chores


class Counted:
    """A chore with a number of steps left."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.done = 0

    def __call__(self) -> bool:
        """One step."""
        if self.done < self.steps:
            self.done += 1
            return True
        return False


def call(chore: Chore) -> bool:
    """As a worker does, without its lock."""
    return chore()


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> tuple[Counted, Counted]:
    """Two chores that are not done."""
    made = Counted(3), Counted(2)
    monkeypatch.setattr(housekeeping, "chores", lambda: made)
    return made


def test_each_chore_is_done_to_its_end(two: tuple[Counted, Counted]) -> None:
    assert not do_chores(call, threading.Event(), 60.0)
    assert [chore.done for chore in two] == [3, 2]


def test_a_worker_that_stops_begins_no_further_step(two: tuple[Counted, Counted]) -> None:
    ended = threading.Event()

    def last(chore: Chore) -> bool:
        ended.set()
        return chore()

    assert do_chores(last, ended, 60.0)
    assert [chore.done for chore in two] == [1, 0]


def test_the_reaper_s_next_round_is_not_kept_waiting(
    two: tuple[Counted, Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    assert do_chores(call, threading.Event(), 4.0)
    assert sum(chore.done for chore in two) < 5


def test_every_chore_of_the_settings_can_be_called() -> None:
    assert [chore() for chore in chores()] == [False] * len(chores())
