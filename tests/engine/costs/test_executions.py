"""Trips of ops in loops are the executions that TensorFlow makes of them, counted in traces of real runs."""

from typing import Any, cast

import pytest

from engine.child.parent import Limits, run_in_child

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    function = "tests.engine.costs.executions_in_child:count_in_child"
    _, texts = run_in_child(function, {}, Limits(), task="counting", is_warm=True)
    return cast(dict[str, Any], texts)


@pytest.mark.parametrize("sample", ["recurrent_training", "nested_training", "few_trips"])
def test_each_op_has_as_many_trips_as_tensorflow_makes_executions(answers: dict[str, Any], sample: str) -> None:
    assert answers[sample]["differ"] == []
    assert answers[sample]["counted"] > 20
