"""Shapes and trips beside TensorFlow: what is said of small functions holds in each execution of each of their ops."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import pytest

from engine.child.parent import Limits, run_in_child

LIMITS = Limits(memory_bytes=4 * 1024**3, seconds=240.0)


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to be said of a sample."""

    loops: tuple[tuple[int, str], ...] = ()
    """trips and source of each"""
    is_open: bool = False
    """whether a shape stays unknown"""
    is_bounded: bool = False
    """whether a shape is the largest that it can be"""


EXACT, BOUNDED = Expected(), Expected(is_bounded=True)
EXPECTED: Mapping[str, Expected] = {
    "an array written in a loop": Expected(((5, "length"),)),
    "an array unstacked and read": EXACT,
    "an array scattered": EXACT,
    "an array joined of different lengths": BOUNDED,
    "an array split": BOUNDED,
    "an array that grows": Expected(((4, "constant"),), is_bounded=True),
    "pushed and popped": EXACT,
    "lists by every op": EXACT,
    "a gradient through a loop": Expected(((3, "constant"), (3, "length"))),
    "up to a bound": Expected(((3, "constant"),)),
    "up to a bound and with it": Expected(((4, "constant"),)),
    "down to a bound": Expected(((3, "constant"),)),
    "down to a bound and with it": Expected(((3, "constant"),)),
    "until it is there": Expected(((3, "constant"),)),
    "in 64 bits": Expected(((3, "constant"),)),
    "through other ops": Expected(((5, "constant"),)),
    "nested loops": Expected(((3, "constant"), (4, "constant"))),
    "growing": Expected(((5, "constant"),), is_bounded=True),
    "growing in nested loops": Expected(((2, "constant"), (3, "constant")), is_bounded=True),
    "doubling": Expected(((5, "constant"),), is_open=True, is_bounded=True),
    "shrinking": Expected(((3, "constant"),), is_bounded=True),
    "growing in rank": Expected(((3, "constant"),), is_open=True, is_bounded=True),
    "ended by data": Expected(((6, "at most"),)),
    "never entered": Expected(((0, "constant"), (4, "constant"))),
    "one side of a condition": BOUNDED,
    "one side of a condition, the other of another": BOUNDED,
    "the other side of a condition": BOUNDED,
    "the first case": BOUNDED,
    "the second case": BOUNDED,
    "a case that is not there": BOUNDED,
    "a condition in a loop": Expected(((4, "constant"),)),
    "filters": BOUNDED,
    "variables by their handles": EXACT,
    "tables": Expected(is_open=True),  # the number of all entries of a table depends on data
    "queues": EXACT,
    "accumulators": EXACT,
    "maps": EXACT,
    "arrays of TensorFlow 1": EXACT,
}


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """What one child says of all samples."""
    function = "tests.engine.costs.evaluated_beside_tensorflow:compare_in_child"
    _, texts = run_in_child(function, {}, LIMITS, task="comparing", is_warm=True)
    return cast(dict[str, Any], texts)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_said_holds_when_the_function_runs(name: str, answers: dict[str, Any]) -> None:
    found, expected = answers[name], EXPECTED[name]
    assert found["mistakes"] == []
    assert found["said"] > 0
    assert found["loops"] == [list(each) for each in expected.loops]
    assert (bool(found["open"]), bool(found["bounded"])) == (expected.is_open, expected.is_bounded)


def test_each_sample_is_expected(answers: dict[str, Any]) -> None:
    assert set(answers) == set(EXPECTED)
