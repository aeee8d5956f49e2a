"""Estimated costs of the zoo: within the roofline's factor of two, whole, the same as the estimator's own answers."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.child.parent import run_in_child
from engine.clusters.device_kinds import CATALOGUE, COSTED_KINDS
from engine.costs.costs import CostSource
from engine.events import Json
from engine.zoo import BUILD_LIMITS, ZOO

KINDS = COSTED_KINDS
SMALL: dict[str, dict[str, Json]] = {
    "nasnet": {"cells": 1},
    "nmt": {"steps": 2},
    "nmt_4_layers": {"steps": 1},
    "ptb": {"steps": 2},
    "cifar10": {"cells": 1},
}
"""settings that leave out what only repeats"""
LEAST_PRODUCTS = 5
ASKED_DIRECTLY = ("inception_v3", "nmt")
"""graphs for which the estimator is also asked about each kind"""


class Estimated:
    """What one child says of all graphs of the zoo, those that it builds itself and the `paths` that there are."""

    def __init__(self, paths: dict[str, Path]) -> None:
        order: dict[str, Json] = {}
        for name in ZOO:
            made: dict[str, Json] = {"zoo": name, "settings": SMALL.get(name, {})}
            job = {"path": str(paths[name])} if name in paths else made
            order[name] = {**job, "roofline": True, "direct": name in ASKED_DIRECTLY}
        self._arrays, self._texts = run_in_child(
            "tests.engine.costs.estimating:estimate_all_in_child", order, BUILD_LIMITS, task="estimating", is_warm=True
        )

    def array(self, name: str, key: str) -> NDArray[np.generic]:
        return self._arrays[f"{name}.{key}"]

    def names(self, name: str) -> list[str]:
        names = self._texts[name]
        assert isinstance(names, list), names  # else an error's text
        return cast(list[str], names)

    def types(self, name: str) -> list[str]:
        return cast(list[str], self._texts[f"{name}.types"])

    def products(self, name: str) -> list[str]:
        return cast(list[str], self._texts[f"{name}.roofline.names"])


@pytest.fixture(scope="module")
def estimated(inception_path: Path) -> Estimated:
    return Estimated({"inception_v3": inception_path})


@pytest.mark.parametrize("name", ZOO)
def test_convolutions_and_products_are_within_twice_the_roofline(estimated: Estimated, name: str) -> None:
    index_of_name = {op: index for index, op in enumerate(estimated.names(name))}
    ops = [index_of_name[op] for op in estimated.products(name)]
    assert len(ops) >= LEAST_PRODUCTS
    operations, moved = estimated.array(name, "roofline.operations"), estimated.array(name, "roofline.bytes")
    for row, kind in enumerate(CATALOGUE[name] for name in KINDS):
        arithmetic_us = operations.astype(float) / (kind.peak_gflops * 1e3)
        transfer_us = moved.astype(float) / kind.memory_bandwidth_bytes_per_us
        times = estimated.array(name, "time_us")[row, ops]
        ratio = times.astype(float) / np.maximum(arithmetic_us, transfer_us)
        assert ratio.min() >= 1.0 - 1e-9, kind.name
        assert ratio.max() <= 2.0, kind.name


@pytest.mark.parametrize("name", ASKED_DIRECTLY)
def test_the_estimator_asked_about_each_kind_says_the_same(estimated: Estimated, name: str) -> None:
    """It answers in whole µs of a device 100 times slower: what it cuts off is less than 10 ns."""
    times, direct = estimated.array(name, "time_us"), estimated.array(name, "direct")
    assert times.shape == direct.shape == (len(KINDS), len(estimated.names(name)))
    assert float(np.max(np.abs(times.astype(float) - direct.astype(float)))) <= 0.01


@pytest.mark.parametrize("name", ZOO)
def test_everything_in_a_zoo_graph_is_known(estimated: Estimated, name: str) -> None:
    assert set(estimated.array(name, "source").tolist()) == {CostSource.ESTIMATED}
    assert not estimated.array(name, "unknown").any()
    totals = dict(zip(KINDS, estimated.array(name, "time_us").astype(float).sum(axis=1), strict=True))
    assert sorted(totals, key=lambda kind: totals[kind]) == ["H100", "A100", "V100", "P100", "K80", "CPU"]


@pytest.mark.parametrize("name", ZOO)
def test_only_variables_are_held(estimated: Estimated, name: str) -> None:
    held = estimated.array(name, "persistent_bytes")
    variables = {op for op, op_type in enumerate(estimated.types(name)) if op_type == "VarHandleOp"}
    assert set(np.flatnonzero(held).tolist()) == variables


def test_variables_count_once_and_so_do_their_slots(estimated: Estimated) -> None:
    """RMSProp keeps two slots a weight; moving averages are no weights; the step counter takes 8 bytes."""
    held = estimated.array("inception_v3", "persistent_bytes").astype(int)
    names = estimated.names("inception_v3")
    moving = sum(int(held[op]) for op, name in enumerate(names) if "/moving_" in name and "/RMSProp" not in name)
    weights = 27_161_264  # of Inception-V3 with its auxiliary classifier
    assert int(held.sum()) == 4 * 3 * weights + moving + 8
