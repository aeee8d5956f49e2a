"""Children that share a family's members: what ends one of them, or the caller, ends them all."""

from functools import partial
from pathlib import Path

import pytest

from engine.child.parent import no_progress
from engine.errors import ClusterError
from engine.events import Json
from engine.zoo.families.children import in_children
from tests.engine.child.processes import is_alive, wait_for

FUNCTIONS = "tests.engine.child.child_functions"


def is_dead(process: int) -> bool:
    """For `wait_for`."""
    return not is_alive(process)


class StoppedError(Exception):
    """What the pulse raises."""


def test_an_exception_from_the_pulse_ends_children_that_report_nothing(tmp_path: Path) -> None:
    reported = [tmp_path / "first", tmp_path / "second"]

    def pulse() -> None:
        if all(path.exists() for path in reported):
            raise StoppedError

    orders: list[dict[str, Json]] = [{"told": str(path)} for path in reported]
    with pytest.raises(StoppedError):
        in_children(f"{FUNCTIONS}:sleep_for_its_member", orders, "sleeping", no_progress, pulse)
    for path in reported:
        for process in path.read_text().split()[:2]:
            wait_for(partial(is_dead, int(process)))


def test_a_child_s_error_ends_the_other(tmp_path: Path) -> None:
    orders: list[dict[str, Json]] = [{"told": str(tmp_path / "first")}, {"error": True}]
    with pytest.raises(ClusterError):
        in_children(f"{FUNCTIONS}:sleep_for_its_member", orders, "sleeping", no_progress)
