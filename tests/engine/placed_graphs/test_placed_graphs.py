"""Placed graphs of all kinds run where they say, in TensorFlow, and give the unplaced graph's numbers."""

from typing import Any, cast

import pytest

from engine.child import Limits, run_in_child
from engine.events import Json

CHECKING = "tests.engine.placed_graphs.checking:check_samples_in_child"
LIMITS = Limits(memory_bytes=12 * 1024**3, seconds=300.0)
PLACEMENTS = 4
LEAST_EXECUTED = {
    "ref variables, Momentum": 100,
    "resource variables, Adam": 170,
    "text, RMSProp, control edges": 90,
    "batch norm, dropout": 200,
    "cond v1, trained": 160,
    "cond v1 of feeds": 10,
    "while v1, nested, trained": 150,
    "TensorArray v1, trained": 160,
    "If, Case, While v2, TensorList": 390,
    "functions, trained": 100,
    "queue": 12,
    "tables, strings, sparse update": 65,
    "dataset, iterator": 12,
    "fixed devices": 60,
    "MetaGraphDef, Adam": 110,
    "SavedModel": 110,
    "frozen inference graph": 70,
}
"""sample → ops that a step must run, so that nothing is held that was never looked at"""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What `Found` tells, by sample."""
    order: dict[str, Json] = {"names": list(LEAST_EXECUTED), "placements": PLACEMENTS}
    _, texts = run_in_child(CHECKING, order, LIMITS, task="running samples")
    return cast(dict[str, Any], texts)


@pytest.mark.parametrize("name", LEAST_EXECUTED)
def test_each_op_runs_where_it_is_written(found: dict[str, Any], name: str) -> None:
    told = found[name]
    assert (told["mismatches"], told["examples"]) == (0, [])
    assert told["placements"] == PLACEMENTS
    assert told["executed"] >= LEAST_EXECUTED[name]
    assert told["compared"] >= PLACEMENTS * LEAST_EXECUTED[name]


@pytest.mark.parametrize("name", LEAST_EXECUTED)
def test_a_step_gives_the_numbers_of_the_unplaced_file(found: dict[str, Any], name: str) -> None:
    assert (found[name]["unequal"], found[name]["examples"]) == (0, [])
    assert found[name]["numbers"] >= 1


@pytest.mark.parametrize("name", LEAST_EXECUTED)
def test_the_placed_file_differs_in_devices_alone(found: dict[str, Any], name: str) -> None:
    assert found[name]["changed"] == 0
