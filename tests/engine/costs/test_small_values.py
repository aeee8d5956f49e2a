"""Small values beside TensorFlow: what is said of an op's outputs is what TensorFlow computes, or nothing."""

from typing import Any, cast

import pytest

from engine.child.parent import Limits, run_in_child
from tests.engine.costs.small_value_cases import CASES, Case

LIMITS = Limits(memory_bytes=4 * 1024**3, seconds=120.0)
LEAST_CASES = 2
"""of each op type"""


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    function = "tests.engine.costs.small_values_in_child:compare_in_child"
    _, texts = run_in_child(function, {}, LIMITS, task="computing", is_warm=True)
    return cast(dict[str, Any], texts)


@pytest.mark.parametrize("index", range(len(CASES)), ids=[f"{case.op} {n}" for n, case in enumerate(CASES)])
def test_a_value_is_what_tensorflow_computes(index: int, answers: dict[str, Any]) -> None:
    computed, found = answers["cases"][index]
    assert found == (None if CASES[index].is_left else computed)


def test_each_op_type_has_cases_that_are_evaluated(answers: dict[str, Any]) -> None:
    evaluated: dict[str, list[Case]] = {}
    for case in CASES:
        if not case.is_left:
            evaluated.setdefault(case.op, []).append(case)
    assert sorted(op for op, cases in evaluated.items() if len(cases) >= LEAST_CASES) == answers["evaluated"]


def test_odd_inputs_and_attributes_raise_nothing(answers: dict[str, Any]) -> None:
    assert answers["odd"] == []
