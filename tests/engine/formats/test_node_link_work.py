"""Node-link JSON whose ops say what they do: times on every kind, passed-on memory, phases, bad values, gzip."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from engine import api
from engine.clusters.device_kinds import CATALOGUE, FLOAT_TYPES, FloatType
from engine.clusters.parsing import parse_cluster
from engine.costs.costs import OWN_BUFFER, PERSISTENT_BUFFER, CostSource
from engine.costs.unknown import Unknown
from engine.errors import CostError, GraphError, LimitError, PlacetoError
from engine.events import Json
from engine.formats.node_link.reader import parsed
from engine.graphs.graph import PHASES
from engine.simulator.simulator import Simulator

LIMITS = api.Limits()


def content(nodes: list[Json], edges: list[Json] | None = None, **about: Json) -> bytes:
    return json.dumps({"nodes": nodes, "edges": edges or [], "graph": about}).encode()


def node(name: str, **fields: Json) -> Json:
    return {"id": name, "flops": 0, "bytes_accessed": 0, "output_bytes": [4], **fields}


def edge(source: str, target: str, output: int | None = 0) -> Json:
    return {"source": source, "target": target, "output": output}


LAYER = content(
    [
        node("x", type="input", output_bytes=[1 << 20]),
        node(
            "fc/weight",
            type="parameter",
            output_bytes=[1 << 21],
            persistent_bytes=1 << 21,
            parameters=1 << 20,
            buffers=["persistent"],
            colocation="fc",
        ),
        node("fc/t", output_bytes=[1 << 21], buffers=[["fc/weight", 0]], phase="forward", colocation="fc"),
        node(
            "fc/mm",
            type="mm",
            flops=1 << 30,
            bytes_accessed=1 << 22,
            dtype="bfloat16",
            output_bytes=[1 << 20],
            phase="forward",
            colocation="fc",
        ),
        node("loss", flops=None, bytes_accessed=1 << 20, phase="backward"),
        node("scaled", time_us={"GPU": 7, "CPU": 90}),
    ],
    [edge("fc/weight", "fc/t"), edge("x", "fc/mm"), edge("fc/t", "fc/mm"), edge("fc/mm", "loss")],
    name="layer",
    framework="torch",
)


def test_work_becomes_a_time_on_every_kind() -> None:
    found = parsed(LAYER)
    costs = found.costs
    for name in ("A100", "RTX4090", "K80", "CPU"):
        kind = CATALOGUE[name]
        (times,) = costs.time_on([name])
        arithmetic = (1 << 30) / (kind.peak_of(FloatType.BFLOAT16) * 1e3)
        both_us = arithmetic + (1 << 22) / kind.memory_bandwidth_bytes_per_us
        assert times[3] == pytest.approx(both_us / kind.efficiency), "types are not known yet"
        assert times[4] == pytest.approx((1 << 20) / kind.memory_bandwidth_bytes_per_us / kind.efficiency)
        assert times[:3].tolist() == [0, 0, 0]
        assert times[5] == (90 if name == "CPU" else 7)
    assert costs.source.tolist() == [CostSource.ESTIMATED] * 4 + [CostSource.UNKNOWN, CostSource.GIVEN]
    assert costs.unknown.tolist() == [0, 0, 0, 0, Unknown.ARITHMETIC, 0]
    assert costs.float_type.tolist()[3] == FLOAT_TYPES.index(FloatType.BFLOAT16)
    assert [PHASES[phase] for phase in found.graph.phase] == ["", "", "forward", "forward", "backward", ""]
    assert found.framework == "torch"
    assert found.held is not None
    assert found.held.variables.tolist() == [0, 1 << 20, 0, 0, 0, 0]


def test_a_view_of_a_weight_holds_no_memory_where_the_weight_lies() -> None:
    found = parsed(LAYER)
    assert found.costs.buffer_of_output.tolist() == [OWN_BUFFER, PERSISTENT_BUFFER, 1, *[OWN_BUFFER] * 3]
    cluster = parse_cluster("2xA100")
    timeline = Simulator(found.graph, found.costs, cluster).timeline(np.array([0, 1, 1, 1, 1, 1], dtype=np.int32))
    weight, x, out = 1 << 21, 1 << 20, 1 << 20
    assert timeline.peak_bytes.tolist()[1] == weight + x + out
    assert timeline.peak_bytes.tolist()[0] == x


@pytest.mark.parametrize(
    ("fields", "edges", "words"),
    [
        ({"flops": -1}, [], "flops"),
        ({"flops": 1e30}, [], "flops"),
        ({"flops": 1.5}, [], "flops"),
        ({"flops": "many"}, [], "flops"),
        ({"flops": True}, [], "flops"),
        ({"bytes_accessed": -1}, [], "bytes_accessed"),
        ({"bytes_accessed": 10**30}, [], "bytes_accessed"),
        ({"bytes_accessed": None}, [], "bytes_accessed"),
        ({"dtype": "float128"}, [], "float128 is no type of arithmetic"),
        ({"dtype": 16}, [], "dtype"),
        ({"phase": "sideways"}, [], "phase"),
        ({"parameters": -5}, [], "parameters"),
        ({"buffers": "persistent"}, [], "buffers"),
        ({"buffers": []}, [], "buffers"),
        ({"buffers": ["elsewhere"]}, [], "buffers[0]"),
        ({"buffers": [["a"]]}, [], "buffers[0]"),
        ({"buffers": [["a", -1]]}, [], "buffers[0]"),
        ({"buffers": [["a", 0]]}, [], "buffers[0]"),
        ({"buffers": [["a", 0]]}, [edge("a", "b", None)], "buffers[0]"),
        ({"buffers": [["nobody", 0]]}, [edge("a", "b")], "buffers[0]"),
        ({"buffers": [["b", 0]]}, [edge("a", "b")], "buffers[0]"),
        ({"time_us": {"K80": 5}}, [], "a time for a kind"),
        ({"time_us": -5}, [], "time_us"),
    ],
)
def test_bad_values_are_refused_in_one_line(fields: dict[str, Json], edges: list[Json], words: str) -> None:
    with pytest.raises((CostError, GraphError)) as error:
        parsed(content([node("a"), node("b", **fields)], edges))
    line = str(error.value)
    assert words in line
    assert "\n" not in line
    assert "node 1 (b)" in line


def test_an_op_without_work_needs_a_time_on_both_classes() -> None:
    with pytest.raises(CostError, match="neither flops nor a time on both GPUs and CPUs"):
        parsed(content([node("a"), {"id": "b", "output_bytes": [], "time_us": {"GPU": 4}}]))


def test_devices_of_an_op_with_work_bind_it_to_a_class() -> None:
    graph = parsed(content([node("a", devices=["CPU"]), node("b", devices=["A100"]), node("c")])).graph
    assert graph.needs_cpu.tolist() == [True, False, False]
    assert graph.needs_gpu.tolist() == [False, True, False]


def test_the_samples_of_a_step_are_known_where_the_file_says_them() -> None:
    assert parsed(content([node("a")], batch=32)).samples == 32
    assert parsed(content([node("a")])).samples == 0
    for wrong in (0, -1, 1.5, True, "32", 10**10):
        with pytest.raises(GraphError, match=r"graph, batch: .*; allowed: an integer from 1 to 1000000000"):
            parsed(content([node("a")], batch=wrong))


def test_a_framework_that_is_not_known_is_refused() -> None:
    with pytest.raises(GraphError, match="framework"):
        parsed(content([node("a")], framework="abacus"))


@pytest.mark.slow
def test_a_compressed_file_is_read_as_the_plain_one(tmp_path: Path) -> None:
    plain, packed = tmp_path / "step.json", tmp_path / "step.json.gz"
    plain.write_bytes(LAYER)
    packed.write_bytes(gzip.compress(LAYER))
    one, other = (api.prepare(path, api.suffix_of(path.name), no_progress, LIMITS, None) for path in (plain, packed))
    assert other.graph.op_names == one.graph.op_names
    assert np.array_equal(other.costs.time_us, one.costs.time_us)
    assert other.origin.framework == "torch"
    assert other.origin.layers is not None
    assert sum(int(str(row["parameters"])) for row in other.origin.layers) == 1 << 20


def no_progress(_stage: str, _done: int, _total: int) -> None:
    """Say nothing."""


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "no gzip", "wrong sum", "bomb"])
def test_a_damaged_compressed_file_is_refused_in_one_line(tmp_path: Path, damage: str) -> None:
    packed = gzip.compress(LAYER)
    content_of: dict[str, bytes] = {
        "cut": packed[:-20],
        "no gzip": LAYER,
        "wrong sum": packed[:-8] + b"\0\0\0\0" + packed[-4:],
        "bomb": gzip.compress(b" " * 40_000_000),
    }
    path = tmp_path / "step.json.gz"
    path.write_bytes(content_of[damage])
    limits = api.Limits(file_bytes=20_000_000)
    with pytest.raises(PlacetoError) as error:
        api.check_upload(path, ".json.gz", limits)
    assert isinstance(error.value, LimitError if damage == "bomb" else GraphError)
    assert "\n" not in str(error.value)
