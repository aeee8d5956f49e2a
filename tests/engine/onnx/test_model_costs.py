"""FLOPs and parameters of whole ONNX models beside closed forms of their layers."""

from collections.abc import Mapping
from math import prod
from pathlib import Path

import pytest
from onnx import ModelProto

from engine.graphs.reading_options import ReadingOptions
from engine.prepared import PreparedGraph
from tests.engine.onnx import models
from tests.engine.onnx.building import stored
from tests.engine.onnx.reading import read_here


def read(model: ModelProto, folder: Path, batch: int = 1, sizes: Mapping[str, int] | None = None) -> PreparedGraph:
    """`model`, read."""
    return read_here(stored(model, folder / "model.onnx"), ReadingOptions(batch_size=batch, sizes=sizes or {}))


def parameters(graph: PreparedGraph) -> int:
    """Of all layers."""
    assert graph.origin.layers is not None
    return sum(int(str(row["parameters"])) for row in graph.origin.layers)


def known_flops(graph: PreparedGraph) -> int:
    """The step's operations, all of them known."""
    assert not graph.costs.unknown.any(), graph.summary()["unknown"]
    return int((graph.costs.flops * graph.costs.trips_of_op()).sum())


def test_resnet_50(tmp_path: Path) -> None:
    """Its 53 convolutions and its last layer, and 25,557,032 parameters as torchvision has them."""
    found = read(models.resnet(), tmp_path, batch=2)
    convolutions = [(3, 64, 7, 112)]
    inner, side = 64, 56
    for stage, count in enumerate(models.RESNET_50):
        narrow = 64 * 2**stage
        for block in range(count):
            after = side // 2 if stage and not block else side
            convolutions += [(inner, narrow, 1, side), (narrow, narrow, 3, after), (narrow, 4 * narrow, 1, after)]
            convolutions += [] if block else [(inner, 4 * narrow, 1, after)]
            inner, side = 4 * narrow, after
    expected = 2 * (sum(2 * i * o * k * k * s * s for i, o, k, s in convolutions) + 2 * 2048 * 1000)
    assert len(convolutions) == 53
    assert expected <= known_flops(found) <= 1.01 * expected
    assert parameters(found) == 25_557_032
    assert int(found.costs.persistent_bytes.sum()) == 4 * (25_557_032 + 2 * 26_560)  # and the moments


def transformer_flops(rows: int, total: int, layers: int, hidden: int) -> int:
    """Of a batch of one: the products of `rows` positions, of which each looks at `total`."""
    return layers * (24 * rows * hidden**2 + 4 * rows * total * hidden)


@pytest.mark.parametrize("build", [models.bert, models.fused_bert])
def test_bert_base(build: object, tmp_path: Path) -> None:
    """109,482,240 parameters with the pooler; the optimizer's form has none."""
    assert callable(build)
    found = read(build(), tmp_path, batch=4, sizes={"sequence": 128})
    expected = 4 * transformer_flops(128, 128, 12, 768)
    assert expected <= known_flops(found) <= 1.01 * expected
    assert parameters(found) == 109_482_240 - (768 * 769 if build is models.fused_bert else 0)


@pytest.mark.parametrize(("new", "past"), [(1, 500), (256, 0)])
def test_gpt_2_with_a_cache(new: int, past: int, tmp_path: Path) -> None:
    """124,439,808 parameters, those of the head being those of the embedding: a step of decoding, and of prefill."""
    found = read(models.decoder(), tmp_path, batch=3, sizes={"new": new, "past": past})
    expected = 3 * (transformer_flops(new, new + past, 12, 768) + 2 * new * 768 * 50257)
    assert expected <= known_flops(found) <= 1.01 * expected
    assert parameters(found) == 124_439_808
    assert int(found.costs.persistent_bytes.sum()) == pytest.approx(4 * 124_439_808, rel=1e-4)
    caches = [op for op, name in enumerate(found.graph.op_names) if name.startswith("past.")]
    assert len(caches) == 24
    assert found.costs.bytes_of_op()[caches].sum() == 4 * 24 * prod((3, 12, past, 64))
