"""Placed graphs of all kinds run where they say, in TensorFlow, and give the unplaced graph's numbers."""

from typing import Any

import pytest

from engine.child.parent import Limits, run_in_child
from engine.events import Json
from experiments.placed.graphs import try_many

IN_CHILD = "tests.engine.placed_graphs.in_child"
LIMITS = Limits(memory_bytes=12 * 1024**3, seconds=1200.0)
PLACEMENTS = 2
PLACEMENTS_OF_A_MODEL = 1
EVERY = 20
"""random placements of one training graph; the command tries 1,000"""
LEAST_EXECUTED = {
    "ref variables, Momentum": 100,
    "resource variables, Adam": 170,
    "text, RMSProp, control edges": 90,
    "batch norm, dropout": 200,
    "cond v1, trained": 160,
    "cond v1 of feeds": 10,
    "while v1, nested, trained": 150,
    "TensorArray v1, trained": 160,
    "layers of a recurrence v1, trained": 290,
    "values from outside loops v1": 100,
    "replicas in a loop of steps, SavedModel": 500,
    "If, Case, While v2, TensorList": 390,
    "functions, trained": 100,
    "two handles of a variable": 8,
    "queue": 12,
    "tables, strings, sparse update": 65,
    "dataset, iterator": 12,
    "fixed devices": 60,
    "MetaGraphDef, Adam": 110,
    "SavedModel": 110,
    "frozen inference graph": 70,
    "zoo: tiny_cnn": 180,
    "zoo: nmt": 1700,
    "zoo: ptb": 900,
    "zoo: cifar10": 1800,
    "zoo: tiny_cnn, inference": 40,
    "zoo: nmt, inference": 350,
    "zoo: ptb, inference": 240,
    "zoo: cifar10, inference": 460,
    "Keras MobileNet, SavedModel": 800,
}
"""sample → ops that a step must run, so that nothing is held that was never looked at. The other
models of `experiments.placed.models` have no further op types; `python -m experiments placed_graphs` tries them all."""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The counts of `PlacementChecks` by sample."""
    models = [name for name in LEAST_EXECUTED if name.startswith(("zoo", "Keras"))]
    kinds = [name for name in LEAST_EXECUTED if name not in models]
    return _found(kinds, PLACEMENTS) | _found(models, PLACEMENTS_OF_A_MODEL)


def _found(names: list[str], placements: int) -> dict[str, Any]:
    order: dict[str, Json] = {"names": list(names), "placements": placements}
    _, texts = run_in_child(f"{IN_CHILD}:check_samples_in_child", order, LIMITS, task="running samples")
    return texts


@pytest.mark.parametrize("name", LEAST_EXECUTED)
def test_each_op_runs_where_it_is_written(found: dict[str, Any], name: str) -> None:
    reported = found[name]
    assert (reported["mismatches"], reported["examples"]) == (0, [])
    assert reported["executed"] >= LEAST_EXECUTED[name]
    assert reported["placements"] >= 1
    assert reported["compared"] >= reported["placements"] * LEAST_EXECUTED[name]


@pytest.mark.parametrize("name", LEAST_EXECUTED)
def test_a_step_gives_the_numbers_of_the_unplaced_file(found: dict[str, Any], name: str) -> None:
    assert (found[name]["unequal"], found[name]["examples"]) == (0, [])
    assert found[name]["numbers"] >= 1


@pytest.mark.parametrize("name", LEAST_EXECUTED)
def test_the_placed_file_differs_in_devices_alone(found: dict[str, Any], name: str) -> None:
    assert found[name]["changed"] == 0


def test_ops_that_are_placed_each_by_itself_are_moved_by_tensorflow() -> None:
    """So the check above can fail."""
    function = f"{IN_CHILD}:scatter_in_child"
    _, texts = run_in_child(function, {"name": "ref variables, Momentum"}, LIMITS, task="scattering")
    moved = texts["moved"]
    assert isinstance(moved, int)
    assert moved > 5


def test_many_random_placements_of_a_training_graph() -> None:
    reported: dict[str, Any] = try_many(EVERY, lambda _: None)
    assert (reported["mismatches"], reported["unequal"], reported["changed"], reported["examples"]) == (0, 0, 0, [])
    assert reported["placements"] == EVERY
    assert reported["compared"] >= EVERY * 180


def test_numbers_are_exact_whatever_ran_before() -> None:
    assert run_in_child(f"{IN_CHILD}:add_rows_in_child", {}, LIMITS, task="adding")[1] == {"different": 1}
