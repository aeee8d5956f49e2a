"""FLOPs and parameters of whole ONNX models beside closed forms of their layers."""

from collections.abc import Mapping
from math import prod
from pathlib import Path

import pytest
from onnx import ModelProto

from engine.clusters.device_kinds import FLOAT_TYPES, FloatType
from engine.graphs.reading_options import ReadingOptions
from engine.prepared import PreparedGraph
from tests.engine.onnx import models, more_models
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


@pytest.mark.parametrize(("bits", "new", "past"), [(16, 1, 2000), (4, 1, 2000), (16, 512, 0)])
def test_llama_7b(bits: int, new: int, past: int, tmp_path: Path) -> None:
    """6,738,415,616 parameters, of two bytes or of half a byte and a scale for 32 of them."""
    found = read(more_models.llama(bits=bits), tmp_path, sizes={"new": new, "past": past})
    matrices = 32 * (4 * 4096**2 + 3 * 4096 * 11008) + 4096 * 32000
    expected = 2 * new * matrices + 32 * 4 * new * (new + past) * 4096
    scaling = matrices if bits == 4 else 0
    assert expected <= known_flops(found) - scaling <= 1.01 * expected
    tables = 2 * 4096 * 64
    assert parameters(found) == 6_738_415_616 + tables
    bytes_of_matrices = matrices * 2 if bits == 16 else matrices // 2 + matrices // 32 * 2
    others = 2 * (6_738_415_616 - matrices)
    assert int(found.costs.persistent_bytes.sum()) == pytest.approx(bytes_of_matrices + others, rel=0.01)
    of_halves = FLOAT_TYPES.index(FloatType.FLOAT16)
    heavy = found.costs.flops > 10**6
    assert set(found.costs.float_type[heavy].tolist()) == {of_halves}


@pytest.mark.parametrize("in_place", [True, False])
def test_quantised_layers(in_place: bool, tmp_path: Path) -> None:
    """Bytes of weights are parameters, scales and zero points are none; products of bytes run as those of halves."""
    found = read(more_models.quantised(in_place=in_place), tmp_path, batch=2)
    expected = 2 * (2 * 64 * 64 * 9 * 56 * 56 + 2 * 64 * 10)
    assert expected <= known_flops(found) <= 1.02 * expected
    assert parameters(found) == 64 * 64 * 9 + 64 * 10
    of_bytes = [name for name, each in zip(found.graph.op_types, found.costs.float_type, strict=True) if each == 2]
    assert of_bytes == (["QLinearConv", "QLinearMatMul"] if in_place else ["QLinearMatMul"])


def test_recurrent_layers(tmp_path: Path) -> None:
    """Both directions, all gates, two biases each."""
    found = read(more_models.recurrent(), tmp_path, batch=3, sizes={"length": 40, "batch": 3})
    cells = [(2, 4, 256), (1, 3, 1024), (1, 1, 512)]
    products = sum(directions * gates * 512 * (width + 512) for directions, gates, width in cells)
    expected = 40 * 3 * 2 * (products + 512 * 1000)
    assert expected <= known_flops(found) <= 1.01 * expected
    assert parameters(found) == products + sum(2 * d * g * 512 for d, g, _ in cells) + 512 * 1000


def test_u_net(tmp_path: Path) -> None:
    """Transposed convolutions count the pixels that go in."""
    found = read(more_models.u_net(), tmp_path)
    widths, sides = [64, 128, 256, 512], [32, 16, 8, 4]
    down = sum(9 * o * i * s * s for i, o, s in zip([3, *widths], widths, sides, strict=False))
    up = sum(9 * 2 * o * o * s * s for o, s in zip(widths, sides, strict=True))
    transposed = 512 * 512 * 4 * 2 * 2 + 256 * 128 * 4 * 8 * 8
    resized = 512 * 256 * 8 * 8 + 128 * 64 * 32 * 32
    expected = 2 * (down + up + transposed + resized)
    assert expected <= known_flops(found) <= 1.02 * expected


def test_a_recommender_reads_rows_alone(tmp_path: Path) -> None:
    """26 tables of 51 MB each are held; a step moves the rows of its batch."""
    found = read(more_models.recommender(), tmp_path, batch=64)
    gathers = [op for op, op_type in enumerate(found.graph.op_types) if op_type == "Gather"]
    assert found.costs.persistent_bytes[gathers].tolist() == [4 * 100_000 * 128] * 26
    assert found.costs.moved_bytes[gathers].tolist() == [64 * 8 + 2 * 64 * 128 * 4] * 26
    expected = 64 * 2 * (13 * 128 + 27 * 27 * 128 + 27 * 27)
    assert expected <= known_flops(found) <= 1.01 * expected
    assert parameters(found) == 26 * 100_000 * 128 + 13 * 128 + 128 + 27 * 27 + 1


def test_a_layer_of_experts(tmp_path: Path) -> None:
    """Each row goes through two of eight experts of Mixtral's size."""
    found = read(more_models.experts(), tmp_path, sizes={"rows": 100})
    expected = 2 * 100 * (4096 * 8 + 2 * 2 * 4096 * 14336)
    assert expected <= known_flops(found) <= 1.01 * expected
    assert parameters(found) == 4096 * 8 + 8 * 2 * 4096 * 14336
