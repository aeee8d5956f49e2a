"""Node-link JSON: what is read, what is refused and with which words, and that writing gives it back."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.clusters.device_kinds import KINDS as DEVICE_KINDS
from engine.costs.costs import Costs, CostSource
from engine.errors import CostError, GraphError, PlacetoError
from engine.events import Json
from engine.formats.node_link.reader import read_nodelink
from engine.formats.node_link.writer import write_nodelink
from engine.graphs.colocation import colocation_classes
from engine.graphs.graph import CONTROL, ComputationGraph
from tests.engine.graphs.graph_samples import members, random_graphs

SHARED = Path(__file__).parents[4] / "shared" / "graphs"
NAN = float("nan")


def read(nodes: list[Json], edges: list[Json] | None = None, **root: Json) -> tuple[ComputationGraph, Costs]:
    """What is read from a file with these nodes and edges."""
    return read_nodelink(json.dumps({"nodes": nodes, "edges": edges or [], **root}).encode())


def node(name: Json, **fields: Json) -> Json:
    return {"id": name, "time_us": 1, "output_bytes": [4], **fields}


def edge(source: Json, target: Json, *output: Json) -> Json:
    made: dict[str, Json] = {"source": source, "target": target}
    return made | {"output": output[0]} if output else made


def test_everything_is_read() -> None:
    graph, costs = read(
        [
            node("b", type="MatMul", time_us={"K80": 2.5, "CPU": 7}, output_bytes=[8, 0], persistent_bytes=100),
            node("a", colocation="x", temporary_bytes=1e3, label="nobody's business"),
            node("c", time_us=0, output_bytes=[], device="/gpu:1", colocation="x"),
        ],
        [edge("a", "c", None), edge("a", "b"), edge("b", "c", 1), edge("a", "c", 0)],
        directed=True,
        multigraph=False,
        graph={"name": "sample"},
    )
    assert graph.name == "sample"
    assert graph.op_names == ("b", "a", "c")
    assert graph.op_types == ("MatMul", "", "")
    # by consumer in the order of the nodes, then in the order of the edges
    assert graph.edge_source.tolist() == [1, 1, 0, 1]
    assert graph.edge_target.tolist() == [0, 2, 2, 2]
    assert graph.edge_output.tolist() == [0, CONTROL, 1, 0]
    assert graph.devices == ("", "", "/gpu:1")
    assert graph.colocation == ((), ("x",), ("x",))
    assert costs.kinds == ("K80", "CPU", "*")
    assert np.array_equal(costs.time_us, [[2.5, NAN, NAN], [7, NAN, NAN], [NAN, 1, 0]], equal_nan=True)
    assert costs.output_offset.tolist() == [0, 2, 3, 3]
    assert costs.output_bytes.tolist() == [8, 0, 4]
    assert costs.persistent_bytes.tolist() == [100, 0, 0]
    assert costs.temporary_bytes.tolist() == [0, 1000, 0]
    assert costs.source.tolist() == [CostSource.GIVEN] * 3


def test_networkx_writes_links_and_numbers_for_names() -> None:
    graph, _ = read_nodelink(
        json.dumps({"nodes": [node(0), node(1)], "links": [edge(0, 1)], "multigraph": True}).encode(), name="by file"
    )
    assert graph.name == "by file"
    assert graph.op_names == ("0", "1")
    assert graph.edge_count == 1


@pytest.mark.parametrize(
    ("time_us", "devices", "on_k80_v100_cpu"),
    [
        (5, None, [5, 5, 5]),
        (5, ["CPU"], [NAN, NAN, 5]),
        (5, ["GPU"], [5, 5, NAN]),
        (5, ["K80"], [5, NAN, NAN]),
        ({"K80": 3, "GPU": 4}, None, [3, 4, NAN]),
        ({"K80": 3, "GPU": 4, "CPU": 9}, ["GPU"], [3, 4, NAN]),
        ({"K80": 3, "GPU": 4, "CPU": 9}, ["V100", "CPU"], [NAN, 4, 9]),
        ({"K80": 3, "CPU": 9}, ["GPU"], [3, NAN, NAN]),
        ({"K80": 3, "*": 8}, None, [3, 8, 8]),
        ({"K80": 3, "*": 8}, ["*", "K80"], [3, 8, 8]),
    ],
)
def test_an_op_has_times_on_its_devices_alone(time_us: Json, devices: Json, on_k80_v100_cpu: list[float]) -> None:
    _, costs = read([node("a", time_us=time_us, devices=devices)])
    assert np.array_equal(costs.time_on(["K80", "V100", "CPU"])[:, 0], on_k80_v100_cpu, equal_nan=True)


def assert_equal(one: tuple[ComputationGraph, Costs], other: tuple[ComputationGraph, Costs]) -> None:
    for part in (0, 1):
        for field in one[part].__dataclass_fields__:
            wanted, found = getattr(one[part], field), getattr(other[part], field)
            if isinstance(wanted, np.ndarray):
                assert np.array_equal(wanted, found, equal_nan=wanted.dtype.kind == "f"), field
            else:
                assert wanted == found, field


@given(random_graphs())
def test_what_is_written_is_read_again(sample: tuple[ComputationGraph, Costs]) -> None:
    graph, costs = sample
    again, same_costs = read_nodelink(write_nodelink(graph, costs))
    assert members(again, colocation_classes(again)) == members(graph, colocation_classes(graph))
    # the second time nothing changes at all
    assert_equal(read_nodelink(write_nodelink(again, same_costs)), (again, same_costs))
    assert again.op_names == graph.op_names
    assert sorted(zip(again.edge_target, again.edge_source, again.edge_output, strict=True)) == sorted(
        zip(graph.edge_target, graph.edge_source, graph.edge_output, strict=True)
    )
    assert np.array_equal(costs.time_us, same_costs.time_us)
    assert np.array_equal(costs.output_bytes, same_costs.output_bytes)


def test_trips_are_read_and_written_where_they_are_not_one() -> None:
    graph, costs = read([node("a"), node("b", trips=40), node("c", trips=4e1), node("d", trips=0), node("e", trips=1)])
    assert costs.trips.tolist() == [1, 40, 40, 0, 1]
    assert costs.time_on(["K80"]).tolist() == [[1, 40, 40, 0, 1]]
    data = write_nodelink(graph, costs)
    assert [each.get("trips") for each in json.loads(data)["nodes"]] == [None, 40, 40, 0, None]
    assert_equal(read_nodelink(data), (graph, costs))


def test_without_trips_a_file_stays_as_it_was() -> None:
    graph, costs = read([node("a", trips=1), node("b")])
    assert len(costs.trips) == 0
    assert b"trips" not in write_nodelink(graph, costs)
    assert write_nodelink(graph, dataclasses.replace(costs, trips=np.ones(2, np.int64))) == write_nodelink(graph, costs)


def test_a_loop_is_not_written() -> None:
    graph, costs = read([node("a"), node("b")])
    fields = {name: getattr(graph, name) for name in graph.__dataclass_fields__}
    loop = ComputationGraph(**fields | {"back_edges": np.array([[1, 0]], dtype=np.int32)})
    with pytest.raises(GraphError, match=r"^a: node-link JSON has no loops; allowed: a graph without while loops$"):
        write_nodelink(loop, costs)


def test_names_are_any_text() -> None:
    names = ["__proto__", "<img src=x onerror=alert(1)>", "../../etc/passwd", "a", "A", "\u202egnp", "名前", " "]
    graph, costs = read([node(name) for name in names])
    assert graph.op_names == tuple(names)
    assert read_nodelink(write_nodelink(graph, costs))[0].op_names == tuple(names)


TIME = "allowed: a number from 0 to 1e+12"
BYTES = "allowed: an integer from 0 to 1000000000000000"
TRIPS = "allowed: an integer from 0 to 1000000000"
KINDS = f"allowed: {', '.join(DEVICE_KINDS)}"
NAME = "allowed: a name or an integer"
CLEAN = "allowed: a text without control characters and half characters"
WHOLE_FILES: list[tuple[bytes, str]] = [
    (b"", "line 1, column 1: this is not JSON; allowed: one JSON value"),
    (b"\x89PNG\r\n\x1a\n", "byte 0: this is not UTF-8 text; allowed: JSON in UTF-8"),
    (b"<!DOCTYPE html>", "line 1, column 1: this is not JSON; allowed: one JSON value"),
    (b"version https://git-lfs.github.com/spec/v1\n", "line 1, column 1: this is not JSON; allowed: one JSON value"),
    (b'{"nodes": [{"id": "a"', "line 1, column 22: this is not JSON; allowed: one JSON value"),
    (b"[" * 1_000_000, "the JSON is nested 1000000 levels deep; allowed: 32 levels"),
    (b"[" + b"0," * 10_000_000 + b"0]", "the JSON holds about 10000002 values; allowed: 10000000 values"),
    (b"[]", "the file: an empty list; allowed: an object with nodes and edges"),
    (b"{}", "nodes: nothing; allowed: a list of at least one node"),
    (b'{"nodes": [], "edges": []}', "nodes: an empty list; allowed: a list of at least one node"),
    (b'{"nodes": [{}]}', "edges or links: nothing; allowed: a list of edges, empty where there are none"),
    (b'{"nodes": [{}], "edges": [], "links": []}', "the file: there are edges and links; allowed: one of the two"),
    (b'{"nodes": [{}], "edges": {}}', "edges or links: an empty object; "
     "allowed: a list of edges, empty where there are none"),
    (b'{"nodes": [{}], "nodes": [], "edges": []}', "nodes: this key is there twice in one object; "
     "allowed: each key once"),
    (b'{"directed": false, "nodes": [{}], "edges": []}', "directed: false; allowed: true"),
    (b'{"multigraph": 1, "nodes": [{}], "edges": []}', "multigraph: 1; allowed: true or false"),
    (b'{"graph": "x", "nodes": [{}], "edges": []}', "graph: 'x'; allowed: an object with a name"),
    (b'{"graph": {"name": 3}, "nodes": [{}], "edges": []}', "graph, name: 3; allowed: a text"),
]  # fmt: skip
NODES: list[tuple[list[Json], str]] = [
    ([3], "node 0: 3; allowed: an object with id, time_us and output_bytes"),
    ([{"time_us": 1, "output_bytes": []}], f"node 0, id: nothing; {NAME}"),
    ([node("")], f"node 0, id: ''; {NAME}"),
    ([node(True)], f"node 0, id: true; {NAME}"),
    ([node(1.5)], f"node 0, id: 1.5; {NAME}"),
    ([node(["a"])], f"node 0, id: a list; {NAME}"),
    ([node("a" * 5000)], "node 0, id: 5000 characters; allowed: at most 4096"),
    ([node("a\nb")], f"node 0, id: 'a\\nb'; {CLEAN}"),
    ([node("a\0")], f"node 0, id: 'a\\x00'; {CLEAN}"),
    ([node("\ud800")], f"node 0, id: '\\ud800'; {CLEAN}"),
    ([node("a"), node("b"), node("a")], "node 2 (a): node 0 has the same id; allowed: unique ids"),
    ([node(7), node("7")], "node 1 (7): node 0 has the same id; allowed: unique ids"),
    ([node("a", type=5)], "node 0 (a), type: 5; allowed: a text"),
    ([{"id": "a", "output_bytes": []}], f"node 0 (a), time_us: nothing; {TIME}"),
    ([node("a", time_us=-1)], f"node 0 (a), time_us: -1; {TIME}"),
    ([node("a", time_us=NAN)], f"node 0 (a), time_us: nan; {TIME}"),
    ([node("a", time_us=float("inf"))], f"node 0 (a), time_us: inf; {TIME}"),
    ([node("a", time_us=10**40)], f"node 0 (a), time_us: a number of more than 30 digits; {TIME}"),
    ([node("a", time_us="5")], f"node 0 (a), time_us: '5'; {TIME}"),
    ([node("a", time_us=False)], f"node 0 (a), time_us: false; {TIME}"),
    ([node("a", time_us={})], "node 0 (a), time_us: no time on any kind; allowed: a number or {kind: number}"),
    ([node("a", time_us={"T3": 1})], f"node 0 (a), time_us: 'T3' is not a device kind; {KINDS}"),
    ([node("a", time_us={"K80": None})], f"node 0 (a), time_us, K80: nothing; {TIME}"),
    ([{"id": "a", "time_us": 1}], "node 0 (a), output_bytes: nothing; "
     "allowed: a list of integers, one an output"),
    ([node("a", output_bytes=4)], "node 0 (a), output_bytes: 4; allowed: a list of integers, one an output"),
    ([node("a", output_bytes=[4, -1])], f"node 0 (a), output_bytes[1]: -1; {BYTES}"),
    ([node("a", output_bytes=[0.5])], f"node 0 (a), output_bytes[0]: 0.5; {BYTES}"),
    ([node("a", output_bytes=[NAN])], f"node 0 (a), output_bytes[0]: nan; {BYTES}"),
    ([node("a", output_bytes=[10**16])], f"node 0 (a), output_bytes[0]: 10000000000000000; {BYTES}"),
    ([node("a", output_bytes=[10**15] * 100)], "all nodes together: 100000000000000000 bytes; "
     "allowed: 72057594037927936"),
    ([node("a", persistent_bytes=None)], f"node 0 (a), persistent_bytes: nothing; {BYTES}"),
    ([node("a", temporary_bytes=-3)], f"node 0 (a), temporary_bytes: -3; {BYTES}"),
    ([node("a", trips=-1)], f"node 0 (a), trips: -1; {TRIPS}"),
    ([node("a"), node("b", trips=1.5)], f"node 1 (b), trips: 1.5; {TRIPS}"),
    ([node("a", trips=NAN)], f"node 0 (a), trips: nan; {TRIPS}"),
    ([node("a", trips=10**9 + 1)], f"node 0 (a), trips: 1000000001; {TRIPS}"),
    ([node("a", trips=10**18)], f"node 0 (a), trips: 1000000000000000000; {TRIPS}"),
    ([node("a", trips=10**40)], f"node 0 (a), trips: a number of more than 30 digits; {TRIPS}"),
    ([node("a", trips="40")], f"node 0 (a), trips: '40'; {TRIPS}"),
    ([node("a", trips=True)], f"node 0 (a), trips: true; {TRIPS}"),
    ([node("a", trips=None)], f"node 0 (a), trips: nothing; {TRIPS}"),
    ([node("a", trips=[4])], f"node 0 (a), trips: a list; {TRIPS}"),
    ([node("a", colocation=["x"])], "node 0 (a), colocation: a list; allowed: a text"),
    ([node("a", devices=[])], "node 0 (a), devices: an empty list; allowed: a list of device kinds"),
    ([node("a", devices="GPU")], "node 0 (a), devices: 'GPU'; allowed: a list of device kinds"),
    ([node("a", devices=["k80"])], f"node 0 (a), devices: 'k80' is not a device kind; {KINDS}"),
    ([node("a", devices=[["K80"]])], f"node 0 (a), devices: a list is not a device kind; {KINDS}"),
    ([node("a", time_us={"K80": 1}, devices=["CPU"])], "node 0 (a): no time on CPU, which is among its devices; "
     "allowed: a time for each of its devices"),
    ([node("a", device="foo")], "a: foo is not a device; "
     "allowed: /device:TYPE:N, with /job:, /replica: and /task: where there are any"),
]  # fmt: skip
EDGES: list[tuple[list[Json], str]] = [
    (["a"], "edge 0: 'a'; allowed: an object with source and target"),
    ([{"source": "a"}], f"edge 0, target: nothing; {NAME}"),
    ([edge("a", "x")], "edge 0, target: x is not in the graph; allowed: the id of a node"),
    ([edge("a", "b"), edge("constructor", "b")], "edge 1, source: constructor is not in the graph; "
     "allowed: the id of a node"),
    ([edge("a", "b", 2)], "edge 0, output: 2; allowed: 0 to 1, the outputs of a"),
    ([edge("a", "b", -1)], "edge 0, output: -1; allowed: 0 to 1, the outputs of a"),
    ([edge("a", "b", True)], "edge 0, output: true; allowed: 0 to 1, the outputs of a"),
    ([edge("a", "b", 0.0)], "edge 0, output: 0.0; allowed: 0 to 1, the outputs of a"),
    ([edge("c", "b")], "edge 0, output: 0; allowed: null: c has no outputs"),
    ([edge("a", "b"), edge("a", "b", 0)], "edge 1: edge 0 is the same; allowed: each output once a consumer"),
    ([edge("a", "a")], "node 0 (a): the op is its own input; allowed: other ops"),
    ([edge("a", "b"), edge("b", "a", None)], "edges: 2 ops form a cycle: a → b → a; allowed: an acyclic graph"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), WHOLE_FILES, ids=[data[:40].decode("latin-1") for data, _ in WHOLE_FILES])
def test_files_that_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        read_nodelink(data)
    assert str(caught.value) == message
    assert caught.value.field == "file"


@pytest.mark.parametrize(("nodes", "message"), NODES, ids=[message[:60] for _, message in NODES])
def test_nodes_that_are_refused(nodes: list[Json], message: str) -> None:
    with pytest.raises((GraphError, CostError)) as caught:
        read(nodes)
    assert str(caught.value) == message
    assert caught.value.field == "file"


@pytest.mark.parametrize(("edges", "message"), EDGES, ids=[message[:60] for _, message in EDGES])
def test_edges_that_are_refused(edges: list[Json], message: str) -> None:
    with pytest.raises(GraphError) as caught:
        read([node("a", output_bytes=[4, 4]), node("b"), node("c", output_bytes=[])], edges)
    assert str(caught.value) == message
    assert caught.value.field == "file"


def test_a_long_cycle_is_named_by_its_first_ops() -> None:
    names: list[Json] = [f"op_{index}" for index in range(20)]
    edges = [edge(names[index], names[(index + 1) % 20]) for index in range(20)]
    with pytest.raises(GraphError, match=r"^edges: 20 ops form a cycle: op_0 → op_1 → op_2 → op_3 → op_4 → … → op_0; "):
        read([node(name) for name in names], edges)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-1, 2) | st.floats() | st.sampled_from(["a", "b", "GPU", ""]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["nodes", "edges", "id", "time_us", "output_bytes", "trips", "source", "target", "output", "GPU"]
                ),
                inner,
            )
        ),
        max_leaves=25,
    )
)
def test_any_json_is_a_graph_or_a_typed_error(value: Json) -> None:
    try:
        read_nodelink(json.dumps(value).encode())
    except PlacetoError as error:
        assert error.field == "file"


@given(st.data())
def test_any_cut_or_changed_file_is_a_graph_or_a_typed_error(data: st.DataObject) -> None:
    whole = write_nodelink(*read([node("a", time_us={"K80": 1}), node("b", device="/gpu:0")], [edge("a", "b", 0)]))
    position = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:position] + data.draw(st.binary(max_size=3)) + whole[position + data.draw(st.integers(0, 200)) :]
    try:
        read_nodelink(changed)
    except PlacetoError as error:
        assert error.field == "file"


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the benchmark graphs are not at {SHARED}")
@pytest.mark.parametrize(
    ("name", "ops", "edges", "kind", "total_us"),
    [
        ("chain_mm", 76, 80, "GPU", 4800.28),
        ("ffnn", 180, 208, "GPU", 226.78),
        ("bert_l-3_inference_ops", 235, 250, "GPU", 49_352.57),
    ],
)
def test_the_benchmarks(name: str, ops: int, edges: int, kind: str, total_us: float) -> None:
    graph, costs = read_nodelink((SHARED / f"{name}.json").read_bytes())
    assert (graph.name, graph.op_count, graph.edge_count) == (name, ops, edges)
    assert costs.time_on([kind]).sum() == pytest.approx(total_us, abs=0.01)
    assert_equal(read_nodelink(write_nodelink(graph, costs)), (graph, costs))
