"""Models as TensorFlow 2 exports them: variables that a function has captured, whose shapes are easily lost."""

from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.child.parent import Limits, run_in_child
from engine.clusters.device_kinds import CATALOGUE, COSTED_KINDS
from engine.costs.unknown import Unknown
from engine.events import Json
from engine.graphs.reading_options import ReadingOptions
from tests.engine.formats.reading import opened

BATCH = 64
PRODUCTS = {  # floating point operations of each, a multiply-add as two; bytes in and out
    "conv2d": (2 * BATCH * 30 * 30 * 16 * 27, 4 * (BATCH * 32 * 32 * 3 + 27 * 16 + BATCH * 30 * 30 * 16)),
    "depthwise": (2 * BATCH * 28 * 28 * 16 * 9, 4 * (BATCH * 30 * 30 * 16 + 9 * 16 + BATCH * 28 * 28 * 16)),
    "separable": (2 * BATCH * 28 * 28 * 8 * 16, 4 * (BATCH * 28 * 28 * 16 + 16 * 8 + BATCH * 28 * 28 * 8)),
    "dense": (2 * BATCH * 8 * 10, 4 * (BATCH * 8 + 80 + BATCH * 10)),
}


WEIGHTS = "sequential_1/conv2d_1/convolution/ReadVariableOp/resource"


@dataclass(frozen=True, slots=True)
class Estimated:
    """An exported model's ops and costs."""

    names: list[str]
    types: list[str]
    time_us: NDArray[np.float64]
    unknown: NDArray[np.int64]
    persistent_bytes: NDArray[np.int64]

    def products(self) -> dict[str, int]:
        """The op of each of `PRODUCTS`."""
        found = [product_of(name, op_type) for name, op_type in zip(self.names, self.types, strict=True)]
        return {product: op for op, product in enumerate(found) if product is not None}


@dataclass(frozen=True, slots=True)
class Exported:
    """What is estimated of the files, and how many bytes the model's variables have."""

    of_file: dict[str, Estimated]
    variable_bytes: int


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("exported")
    export = "tests.engine.costs.captured_variables:export_in_child"
    _, said = run_in_child(export, {"folder": str(folder)}, Limits(), task="exporting", is_warm=True)
    batch = ReadingOptions(batch_size=BATCH)
    given = ReadingOptions(batch_size=BATCH, input_shapes={WEIGHTS: (3, 3, 3, 16)})
    order: dict[str, Json] = {
        "shapes": {"path": str(folder / "shapes.pb"), "options": batch.to_json()},
        "bare": {"path": str(folder / "bare.pb"), "options": batch.to_json()},
        "given": {"path": str(folder / "bare.pb"), "options": given.to_json()},
    }
    with opened(folder / "saved.zip", batch, Limits()) as graphdef:
        order["saved"] = {"path": str(graphdef.path), "options": batch.to_json()}
        estimate = "tests.engine.costs.estimating:estimate_all_in_child"
        arrays, texts = run_in_child(estimate, order, Limits(), task="estimating", is_warm=True)
    of_file = {
        name: Estimated(
            cast(list[str], texts[name]),
            cast(list[str], texts[f"{name}.types"]),
            arrays[f"{name}.time_us"].astype(np.float64),
            arrays[f"{name}.unknown"].astype(np.int64),
            arrays[f"{name}.persistent_bytes"].astype(np.int64),
        )
        for name in order
    }
    return Exported(of_file, cast(int, said["bytes"]))


def product_of(name: str, op_type: str) -> str | None:
    """Which of `PRODUCTS` an op is."""
    if op_type == "MatMul":
        return "dense"
    if op_type == "DepthwiseConv2dNative":
        return "depthwise"
    return ("separable" if "separable" in name else "conv2d") if op_type == "Conv2D" else None


@pytest.mark.parametrize("name", ["saved", "shapes"])
def test_products_are_within_twice_the_roofline(exported: Exported, name: str) -> None:
    found = exported.of_file[name]
    assert not found.unknown.any()
    ops = found.products()
    assert ops.keys() == PRODUCTS.keys()
    for row, kind in enumerate(CATALOGUE[name] for name in COSTED_KINDS):
        for product, (operations, moved) in PRODUCTS.items():
            arithmetic_us, transfer_us = operations / kind.peak_gflops / 1e3, moved / kind.memory_bandwidth_bytes_per_us
            ratio = found.time_us[row, ops[product]] / max(arithmetic_us, transfer_us)
            assert 1.0 - 1e-9 <= ratio <= 2.0, (product, kind.name)
    assert found.persistent_bytes.sum() == exported.variable_bytes


def test_lost_shapes_are_unknown_and_not_free_in_silence(exported: Exported) -> None:
    found = exported.of_file["bare"]
    ops = found.products()
    assert [int(found.unknown[ops[product]]) for product in PRODUCTS] == [Unknown.INPUT_SHAPE] * len(PRODUCTS)
    reads = [op for op, op_type in enumerate(found.types) if op_type == "ReadVariableOp"]
    lost = [op for op in reads if found.unknown[op]]
    assert {int(found.unknown[op]) for op in lost} == {Unknown.LOST_SHAPE}
    assert len(PRODUCTS) <= len(lost) < len(reads)  # a bias that is reshaped to what the file says is as long as that


def test_the_shape_of_a_captured_variable_can_be_given(exported: Exported) -> None:
    found = exported.of_file["given"]
    op = found.products()["conv2d"]
    assert found.unknown[op] == Unknown.NOT_SAID
    k80, (operations, moved) = CATALOGUE["K80"], PRODUCTS["conv2d"]
    expected = operations / k80.peak_gflops / 1e3 + moved / k80.memory_bandwidth_bytes_per_us
    assert found.time_us[0, op] == pytest.approx(expected, rel=0.01)
    assert [found.names[op] for op in np.flatnonzero(found.persistent_bytes >= 4 * 27 * 16)] == [WEIGHTS]
