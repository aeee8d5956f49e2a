"""What a file of a placement may hold: read as a child does it, without a child."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.clusters.parsing import parse_cluster
from engine.errors import PlacementError
from engine.graphs.grouping.nesting import SplitPlacement
from engine.placement_files import (
    devices_of_names,
    devices_to_json,
    pins_of_names,
    placement_of_names,
    placement_to_json,
    read_in_child,
)
from engine.zoo.random_graphs import random_graph
from experiments.problems import regrouped

OPS, DEVICES = ["a", "b"], ["/device:GPU:0", "/device:GPU:1"]


def read(path: Path, content: object) -> list[int]:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    _, texts = read_in_child({"path": str(path), "most_values": 2 * len(OPS) + 1000}, path.parent, lambda *_: None)
    return [int(device) for device in devices_of_names(OPS, DEVICES, texts["placement"])]


def test_devices_come_in_the_order_of_the_ops(tmp_path: Path) -> None:
    assert read(tmp_path / "file", {"b": DEVICES[0], "a": DEVICES[1]}) == [1, 0]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "this is not JSON"),
        (b"\xff", "this is not UTF-8 text"),
        (b"[]", "no object"),
        (b"[" * 100_000, "the JSON is nested 100000 levels deep"),
        (b"[" + b"1," * 5000 + b"1]", "the JSON holds about 5"),
        (b'{"a": 1, "a": 2}', "this key is there twice"),
        ({"nobody": DEVICES[0]}, "nobody: no such op in the graph; allowed: 2 ops"),
        ({"__proto__": DEVICES[0]}, "__proto__: no such op in the graph"),
        ({"a": "/device:TPU:0"}, "a: no such device: /device:TPU:0; allowed: /device:GPU:0, /device:GPU:1"),
        ({"a": ["x"]}, "a: no such device"),
        ({"a": "x" * 300}, "a: no such device: xxx"),
        ({"a": DEVICES[0]}, "b: it is not placed; allowed: a device for every op of the graph"),
    ],
)
def test_what_is_no_placement_is_refused_in_one_line(tmp_path: Path, content: object, sentence: str) -> None:
    with pytest.raises(PlacementError) as caught:
        read(tmp_path / "file", content)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)
    assert caught.value.field == "file"


def test_a_placement_by_name_becomes_one_by_group() -> None:
    prepared = regrouped(random_graph("series-parallel", 40, np.random.default_rng(0)), 8)
    cluster = parse_cluster("2xK80")
    groups = [index % 2 for index in range(prepared.grouping.group_count)]
    named = dict(placement_to_json(prepared, cluster, SplitPlacement(groups)))
    assert placement_of_names(prepared, cluster, dict(named)) == SplitPlacement(groups)
    device_of_op = np.array(groups)[prepared.grouping.group_of_op]
    assert devices_to_json(prepared, cluster, device_of_op) == named
    group = int(np.argmax(np.bincount(prepared.grouping.group_of_op)))
    op = prepared.graph.op_names[np.flatnonzero(prepared.grouping.group_of_op == group)[-1]]
    torn = named | {op: "/device:GPU:1" if named[op] == "/device:GPU:0" else "/device:GPU:0"}
    with pytest.raises(PlacementError, match="is on several devices: group"):
        placement_of_names(prepared, cluster, dict(torn))


def test_pins_are_named_by_group_or_op() -> None:
    prepared = regrouped(random_graph("series-parallel", 40, np.random.default_rng(0)), 8)
    cluster = parse_cluster("2xK80")
    group = int(np.argmax(np.bincount(prepared.grouping.group_of_op)))
    op = prepared.graph.op_names[np.flatnonzero(prepared.grouping.group_of_op == group)[-1]]
    other = prepared.grouping.names[1 - min(group, 1)]
    assert pins_of_names(prepared, cluster, {op: DEVICES[1]}) == {group: 1}
    assert pins_of_names(prepared, cluster, {prepared.grouping.names[group]: DEVICES[0]}) == {group: 0}
    for pins, sentence in [
        ({"nobody": DEVICES[0]}, "nobody: there is no such group or op"),
        ({op: "/gpu:0"}, "no such device: /gpu:0; allowed: /device:GPU:0, /device:GPU:1"),
        ({op: DEVICES[0], prepared.grouping.names[group]: DEVICES[1], other: DEVICES[0]}, "its group is pinned to"),
    ]:
        with pytest.raises(PlacementError, match=sentence):
            pins_of_names(prepared, cluster, pins)
