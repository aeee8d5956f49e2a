"""A prepared graph handed out as a networkx graph says what the engine's own says, and is a copy."""

import json
from pathlib import Path

import networkx

from engine import api

FILE = {
    "directed": True,
    "multigraph": False,
    "graph": {"name": "small"},
    "nodes": [
        {"id": "a", "type": "MatMul", "time_us": {"GPU": 2.0, "CPU": 8.0}, "output_bytes": [10, 20]},
        {"id": "b", "type": "Add", "time_us": 3.0, "output_bytes": [5], "persistent_bytes": 7, "trips": 4},
        {"id": "c", "type": "NoOp", "time_us": 0.5, "output_bytes": [], "device": "/device:GPU:1"},
    ],
    "edges": [
        {"source": "a", "target": "b", "output": 0},
        {"source": "a", "target": "b", "output": 1},
        {"source": "b", "target": "c", "output": None},
    ],
}


def prepared(tmp_path: Path) -> api.PreparedGraph:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(FILE))
    return api.prepare(path, ".json", lambda *_: None, api.Limits(), groups=None)


def test_ops_edges_costs_and_groups_are_there(tmp_path: Path) -> None:
    graph = api.digraph(prepared(tmp_path))
    assert graph.graph["name"] == "small"
    assert list(graph) == ["a", "b", "c"]
    assert graph.nodes["a"]["time_us"] == {"CPU": 8.0, "GPU": 2.0}
    assert graph.nodes["a"]["output_bytes"] == [10, 20]
    assert list(graph.nodes["b"]["time_us"].values()) == [3.0]
    assert (graph.nodes["b"]["persistent_bytes"], graph.nodes["b"]["trips"]) == (7, 4)
    assert (graph.nodes["c"]["type"], graph.nodes["c"]["device"]) == ("NoOp", "/device:GPU:1")
    assert {op: graph.nodes[op]["group"] for op in graph} == {"a": 0, "b": 1, "c": 2}
    assert dict(graph.edges) == {
        ("a", "b"): {"outputs": [0, 1], "back": False},
        ("b", "c"): {"outputs": [None], "back": False},
    }


def test_networkx_computes_with_it(tmp_path: Path) -> None:
    graph = api.digraph(prepared(tmp_path))
    assert networkx.dag_longest_path(graph) == ["a", "b", "c"]
    graph.remove_node("b")
    assert list(api.digraph(prepared(tmp_path))) == ["a", "b", "c"]
