"""An explained step in files of other programs: tables, a trace, Model Explorer's JSON."""

import csv
import dataclasses
import io
import json
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from engine.clusters.parsing import parse_cluster
from engine.costs.costs import CostSource
from engine.costs.source_words import simulated_words
from engine.explaining.idle import IdleCause
from engine.explaining.model_explorer import device_node_data, model_explorer_graph, time_node_data
from engine.explaining.session import Explanation, GivenPlacement, Session
from engine.explaining.tables import chain_csv, groups_csv
from engine.explaining.trace import IDLE_PROCESS, explained_trace
from engine.files.csv_text import csv_text
from engine.formats.node_link.reader import read_nodelink
from engine.graphs.grouping.grouping import group_ops
from engine.prepared import PreparedGraph
from engine.simulator.timeline import DEVICES_PROCESS
from tests.engine.explaining.sessions import drawn, session_of

HOSTILE = ["__proto__", "=1+1", "<img src=x onerror=alert(1)>/a;b", '"], "x": ["', "a,b", "\u202ertl"]
"""names that a graph may have"""

Step = tuple[Session, GivenPlacement, Explanation]


@pytest.fixture(scope="module")
def step() -> Step:
    """A step on five devices."""
    session = session_of(3)
    placement = session.by_group(drawn(session, np.random.default_rng(3)))
    return session, placement, session.explain(placement)


@pytest.fixture(scope="module")
def hostile_step() -> Step:
    """A step of a chain of ops with hostile names."""
    nodes = [
        {"id": name, "type": name[:3], "time_us": 10.0 + place, "output_bytes": [100]}
        for place, name in enumerate(HOSTILE)
    ]
    edges = [{"source": one, "target": other} for one, other in pairwise(HOSTILE)]
    graph, costs = read_nodelink(json.dumps({"nodes": nodes, "edges": edges}).encode())
    session = Session(PreparedGraph(graph, costs, group_ops(graph, costs, None)), parse_cluster("2xK80"))
    groups = session.prepared.grouping.group_count
    placement = session.by_group(np.arange(groups, dtype=np.int32) % 2)
    return session, placement, session.explain(placement)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_groups_have_their_device_and_their_ops_times(step: Step) -> None:
    session, placement, explanation = step
    rows = rows_of(groups_csv(*step))
    names = [device.name for device in session.cluster.devices]
    assert [row["name"] for row in rows] == list(session.prepared.grouping.names)
    assert [row["device"] for row in rows] == [names[device] for device in placement.device_of_group]
    assert sum(float(row["time_us"]) for row in rows) == pytest.approx(explanation.timeline.busy_us.sum(), rel=1e-9)
    assert sum(int(row["ops"]) for row in rows) == session.op_count
    chain_us = float(explanation.chain.sum_us()[0])
    assert sum(float(row["critical_us"]) for row in rows) == pytest.approx(chain_us, rel=1e-9)


def test_the_times_of_the_chain_add_up_to_the_step(step: Step) -> None:
    session, _, explanation = step
    rows = rows_of(chain_csv(session, explanation))
    assert sum(float(row["time_us"]) for row in rows) == pytest.approx(explanation.timeline.step_time_us, rel=1e-9)
    assert float(rows[0]["start_us"]) == 0
    assert all(one["end_us"] == other["start_us"] for one, other in pairwise(rows))
    assert {row["cause"] for row in rows} <= {"compute", "transfer", "link", "rest", "queue"}


def test_tables_have_the_names_of_the_pages_beside_those_of_the_file() -> None:
    names = [f"PartitionedCall/net/{layer}/x" for layer in ("a", "b", "c")]
    nodes = [{"id": name, "time_us": {"K80": 1.0}, "output_bytes": [8]} for name in names]
    edges = [{"source": one, "target": other} for one, other in pairwise(names)]
    graph, costs = read_nodelink(json.dumps({"nodes": nodes, "edges": edges}).encode())
    session = Session(PreparedGraph(graph, costs, group_ops(graph, costs, None)), parse_cluster("2xK80"))
    placement = session.by_group([0, 1, 1])
    explanation = session.explain(placement)
    groups, chain = groups_csv(session, placement, explanation), chain_csv(session, explanation)
    assert [(row["name"], row["short_name"]) for row in rows_of(groups)] == [
        *zip(names, ("a/x", "b/x", "c/x"), strict=True)
    ]
    of_chain = {row["name"].split(":")[0]: row["short_name"] for row in rows_of(chain)}
    assert of_chain and of_chain.items() <= dict(zip(names, ("a/x", "b/x", "c/x"), strict=True)).items()


def test_the_trace_has_the_idle_times_with_their_causes(step: Step) -> None:
    session, _, explanation = step
    trace: Any = explained_trace(session, explanation)
    idle = [event for event in trace["traceEvents"] if event["pid"] == IDLE_PROCESS and event["ph"] == "X"]
    times = explanation.idle.end_us - explanation.idle.start_us
    assert sum(event["dur"] for event in idle) == pytest.approx(times.sum(), rel=1e-9)
    causes = [f"{cause.name.lower()}_us" for cause in IdleCause]
    for event in idle:
        assert sum(event["args"].get(cause, 0.0) for cause in causes) == pytest.approx(event["dur"], rel=1e-6)


def test_every_file_says_where_the_times_come_from(step: Step) -> None:
    session, placement, explanation = step
    costs = session.prepared.costs
    mixed = np.full(session.op_count, CostSource.ESTIMATED, np.uint8)
    mixed[::3] = CostSource.MEASURED
    prepared = dataclasses.replace(session.prepared, costs=dataclasses.replace(costs, source=mixed))
    session = Session(prepared, session.cluster)
    words = simulated_words(prepared.op_time_sources())
    assert "estimated from operations and bytes" in words and "measured" in words

    group_of_op = prepared.grouping.group_of_op
    for group, row in enumerate(rows_of(groups_csv(session, placement, explanation))):
        parts = re.findall(r"(estimated|measured)(?: (\d+))?", row["time_source"])
        members = mixed[group_of_op == group]
        named = {name: int(ops) if ops else len(members) for name, ops in parts}
        assert named == {
            source.name.lower(): int((members == source).sum()) for source in CostSource if (members == source).any()
        }
    for row in rows_of(chain_csv(session, explanation)):
        assert (row["time_source"] in ("estimated", "measured")) == (row["cause"] == "compute")
    trace: Any = explained_trace(session, explanation)
    assert trace["otherData"]["step_time_source"] == words
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["pid"] == DEVICES_PROCESS]
    assert [span["args"]["time source"] for span in spans] == [
        CostSource(source).name.lower() for source in mixed.tolist()
    ]
    [graph] = json.loads(model_explorer_graph(session, placement, explanation, ""))["graphs"]
    attributes = [{each["key"]: each["value"] for each in node["attrs"]} for node in graph["nodes"]]
    assert [each["time source"] for each in attributes] == [
        CostSource(source).name.lower() for source in mixed.tolist()
    ]
    assert words in json.loads(time_node_data(session, explanation))["graph"]["name"]


KEYS_OF_A_NODE = {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata"}
KEYS_OF_AN_EDGE = {"sourceNodeId", "sourceNodeOutputId", "targetNodeInputId"}


@pytest.mark.parametrize("kind", ["step", "hostile_step"])
def test_the_graph_is_of_model_explorers_shape(kind: str, request: pytest.FixtureRequest) -> None:
    session, placement, explanation = request.getfixturevalue(kind)
    collection = json.loads(model_explorer_graph(session, placement, explanation, '</script>"'))
    assert set(collection) == {"label", "graphs"} and collection["label"] == '</script>"'
    [graph] = collection["graphs"]
    assert set(graph) == {"id", "nodes"} and isinstance(graph["id"], str)
    ids = [node["id"] for node in graph["nodes"]]
    assert ids == list(session.prepared.graph.op_names)
    edges = 0
    for node in graph["nodes"]:
        assert set(node) == KEYS_OF_A_NODE
        assert all(isinstance(node[key], str) for key in ("id", "label", "namespace"))
        assert ";" not in node["namespace"]
        for attribute in node["attrs"]:
            assert set(attribute) == {"key", "value"} and isinstance(attribute["value"], str)
        for edge in node["incomingEdges"]:
            assert set(edge) == KEYS_OF_AN_EDGE and all(isinstance(value, str) for value in edge.values())
            assert edge["sourceNodeId"] in set(ids)
        for item in node["outputsMetadata"]:
            assert set(item) == {"id", "attrs"}
        edges += len(node["incomingEdges"])
    assert edges == session.prepared.graph.edge_count


@pytest.mark.parametrize("kind", ["step", "hostile_step"])
def test_node_data_are_of_model_explorers_shape(kind: str, request: pytest.FixtureRequest) -> None:
    session, placement, explanation = request.getfixturevalue(kind)
    devices = json.loads(device_node_data(session, placement))
    times = json.loads(time_node_data(session, explanation))
    [graph] = json.loads(model_explorer_graph(session, placement, explanation, ""))["graphs"]
    assert list(devices) == list(times) == [graph["id"]]
    for data in (devices[graph["id"]], times[graph["id"]]):
        assert set(data) <= {"name", "results", "thresholds", "gradient"}
        assert list(data["results"]) == list(session.prepared.graph.op_names)
    assert {tuple(sorted(result)) for result in devices[graph["id"]]["results"].values()} == {
        ("bgColor", "textColor", "value")
    }
    assert [stop["stop"] for stop in times[graph["id"]]["gradient"]] == [0, 1]
    measured = sum(result["value"] for result in times[graph["id"]]["results"].values())
    assert measured == pytest.approx(explanation.timeline.busy_us.sum(), rel=1e-9)


def test_a_spreadsheet_computes_nothing_and_every_name_is_one_cell() -> None:
    names = [*HOSTILE, "a\nb", "+1", "\ud800 half"]
    rows = rows_of(csv_text(["name", "number", "yes"], [[name, -1.5, True] for name in names]))
    assert [row["name"] for row in rows] == [f"'{name}" if name[0] in "=+" else name for name in names]
    assert {(row["number"], row["yes"]) for row in rows} == {("-1.5", "true")}
