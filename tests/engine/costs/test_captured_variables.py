"""Models as TensorFlow 2 exports them: variables that a function has captured, whose shapes are easily lost."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from engine.child import Limits, no_progress, run_in_child
from engine.clusters.catalogue import CATALOGUE
from engine.costs.costs import Source
from engine.costs.unknown import Unknown
from engine.formats import prepare
from engine.graphs.reading_options import ReadingOptions
from engine.prepared import PreparedGraph

BATCH = 64
PRODUCTS = {  # floating point operations of each, a multiply-add as two; bytes in and out
    "conv2d": (2 * BATCH * 30 * 30 * 16 * 27, 4 * (BATCH * 32 * 32 * 3 + 27 * 16 + BATCH * 30 * 30 * 16)),
    "depthwise": (2 * BATCH * 28 * 28 * 16 * 9, 4 * (BATCH * 30 * 30 * 16 + 9 * 16 + BATCH * 28 * 28 * 16)),
    "separable": (2 * BATCH * 28 * 28 * 8 * 16, 4 * (BATCH * 28 * 28 * 16 + 16 * 8 + BATCH * 28 * 28 * 8)),
    "dense": (2 * BATCH * 8 * 10, 4 * (BATCH * 8 + 80 + BATCH * 10)),
}


@dataclass(frozen=True, slots=True)
class Exported:
    """The files, and how many bytes the model's variables have."""

    folder: Path
    variable_bytes: int

    def prepared(self, name: str, options: ReadingOptions) -> PreparedGraph:
        path = self.folder / name
        return prepare(path, path.suffix, no_progress, Limits(), options=options)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("exported")
    order = "tests.engine.costs.captured_variables:export_in_child"
    _, texts = run_in_child(order, {"folder": str(folder)}, Limits(), task="exporting")
    return Exported(folder, cast(int, texts["bytes"]))


@pytest.fixture(scope="module")
def bare(exported: Exported) -> PreparedGraph:
    return exported.prepared("bare.pb", ReadingOptions(batch_size=BATCH))


def product_of(name: str, op_type: str) -> str | None:
    """Which of `PRODUCTS` an op is."""
    if op_type == "MatMul":
        return "dense"
    if op_type == "DepthwiseConv2dNative":
        return "depthwise"
    return ("separable" if "separable" in name else "conv2d") if op_type == "Conv2D" else None


def products(prepared: PreparedGraph) -> dict[str, int]:
    """The op of each of `PRODUCTS`."""
    graph = prepared.graph
    found = [product_of(name, op_type) for name, op_type in zip(graph.op_names, graph.op_types, strict=True)]
    return {product: op for op, product in enumerate(found) if product is not None}


@pytest.mark.parametrize("name", ["saved.zip", "shapes.pb"])
def test_products_are_within_twice_the_roofline(exported: Exported, name: str) -> None:
    prepared = exported.prepared(name, ReadingOptions(batch_size=BATCH))
    assert prepared.summary()["unknown"] == []
    ops = products(prepared)
    assert ops.keys() == PRODUCTS.keys()
    for row, kind in enumerate(CATALOGUE.values()):
        for product, (operations, moved) in PRODUCTS.items():
            arithmetic_us, transfer_us = operations / kind.peak_gflops / 1e3, moved / kind.memory_bandwidth_bytes_per_us
            ratio = prepared.costs.time_us[row, ops[product]] / max(arithmetic_us, transfer_us)
            assert 1.0 - 1e-9 <= ratio <= 2.0, (product, kind.name)
    assert prepared.costs.persistent_bytes.sum() == exported.variable_bytes


def test_lost_shapes_are_listed_and_not_free_in_silence(bare: PreparedGraph) -> None:
    ops = products(bare)
    assert [bare.costs.source[ops[product]] for product in PRODUCTS] == [Source.UNKNOWN] * len(PRODUCTS)
    listed = {name: why for name, _, why in cast(list[list[str]], bare.summary()["unknown"])}
    assert all(bare.graph.op_names[op] in listed for op in ops.values())
    reads = [op for op, op_type in enumerate(bare.graph.op_types) if op_type == "ReadVariableOp"]
    assert {int(bare.costs.unknown[op]) for op in reads} == {Unknown.OUTPUT_SHAPE}


def test_the_shape_of_a_captured_variable_can_be_given(exported: Exported, bare: PreparedGraph) -> None:
    weights = next(name for name in bare.graph.op_names if name.endswith("convolution/ReadVariableOp/resource"))
    options = ReadingOptions(batch_size=BATCH, input_shapes={weights: (3, 3, 3, 16)})
    prepared = exported.prepared("bare.pb", options)
    op = products(prepared)["conv2d"]
    assert prepared.costs.source[op] == Source.ESTIMATED
    k80, (operations, moved) = CATALOGUE["K80"], PRODUCTS["conv2d"]
    expected = operations / k80.peak_gflops / 1e3 + moved / k80.memory_bandwidth_bytes_per_us
    assert prepared.costs.time_us[0, op] == pytest.approx(expected, rel=0.01)
    held = np.flatnonzero(prepared.costs.persistent_bytes >= 4 * 27 * 16)
    assert [prepared.graph.op_names[op] for op in held] == [weights]
