"""Partly known vectors: what is said of an op's numbers holds whatever the unknown ones are."""

from typing import Any, cast

import pytest

from engine.child.parent import Limits, run_in_child


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    function = "tests.engine.costs.partial_values_in_child:compare_in_child"
    _, texts = run_in_child(function, {}, Limits(), task="comparing", is_warm=True)
    return cast(dict[str, Any], texts)


def test_known_numbers_are_those_of_each_completion(answers: dict[str, Any]) -> None:
    assert {op_type: found["mistakes"] for op_type, found in answers.items() if found["mistakes"]} == {}


def test_some_numbers_of_each_op_type_are_known(answers: dict[str, Any]) -> None:
    assert [op_type for op_type, found in answers.items() if not found["said"]] == []
