"""The Chrome trace of a timeline: what Perfetto needs to draw it."""

import json
from typing import Any

import numpy as np
import pytest

from engine.clusters.cluster import Contention
from engine.simulator import Simulator, timeline_to_trace
from tests.engine.simulator.cases import Op, cluster_of, graph_of

OPS = [
    Op('<img src=x onerror="alert(1)">', time_us=10, outputs=[1000], persistent=7),
    Op("b", ['<img src=x onerror="alert(1)">'], time_us=1),
    Op("c", ['^<img src=x onerror="alert(1)">'], time_us=1),
]


def trace_of(contention: Contention) -> dict[str, Any]:
    graph, costs = graph_of(OPS)
    cluster = cluster_of(2, contention)
    timeline = Simulator(graph, costs, cluster).timeline(np.array([0, 1, 1], dtype=np.int32))
    trace: dict[str, Any] = json.loads(json.dumps(timeline_to_trace(timeline, graph, costs, cluster), allow_nan=False))
    return trace


def spans(trace: dict[str, Any], process: int) -> list[tuple[int, str, float, float]]:
    return [
        (event["tid"], event["name"], event["ts"], event["dur"])
        for event in trace["traceEvents"]
        if event["ph"] == "X" and event["pid"] == process
    ]


def track_names(trace: dict[str, Any]) -> dict[tuple[int, int], str]:
    return {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    }


def test_ops_are_spans_on_the_tracks_of_their_devices() -> None:
    trace = trace_of(Contention.BUS)
    assert spans(trace, 1) == [(0, OPS[0].name, 0, 10), (1, "b", 20, 1), (1, "c", 45, 1)]
    assert track_names(trace)[1, 1] == "/device:GPU:1"


@pytest.mark.parametrize(
    ("contention", "track"),
    [(Contention.BUS, "/device:GPU:0"), (Contention.PAIR, "/device:GPU:0 → /device:GPU:1")],
)
def test_transfers_are_spans_on_the_tracks_of_their_channels(contention: Contention, track: str) -> None:
    trace = trace_of(contention)
    assert sorted(spans(trace, 2)) == [(0, f"{OPS[0].name}:0", 10, 10), (0, f"^{OPS[0].name}", 45, 0)]
    assert track_names(trace)[2, 0] == track
    tensor = next(event for event in trace["traceEvents"] if event["name"] == f"{OPS[0].name}:0")
    assert tensor["args"] == {"bytes": 1000, "from": "/device:GPU:0", "to": "/device:GPU:1", "critical": True}


def test_transfers_that_may_overlap_are_asynchronous() -> None:
    events = [event for event in trace_of(Contention.NONE)["traceEvents"] if event["pid"] == 2 and event["ph"] in "be"]
    assert [(event["ph"], event["id"], event["ts"]) for event in events] == [
        ("b", 0, 10),
        ("e", 0, 10),
        ("b", 1, 10),
        ("e", 1, 20),
    ]


def test_memory_is_a_counter_a_device() -> None:
    counters = [
        (event["name"], event["ts"], event["args"]["bytes"])
        for event in trace_of(Contention.BUS)["traceEvents"]
        if event["ph"] == "C"
    ]
    assert counters == [
        ("/device:GPU:0", 0, 1007),
        ("/device:GPU:0", 20, 7),
        ("/device:GPU:1", 0, 0),
        ("/device:GPU:1", 20, 1000),
        ("/device:GPU:1", 21, 0),
    ]


def test_spans_have_short_names_and_the_name_in_the_file_among_their_details() -> None:
    graph, costs = graph_of(OPS)
    cluster = cluster_of(2, Contention.BUS)
    timeline = Simulator(graph, costs, cluster).timeline(np.array([0, 1, 1], dtype=np.int32))
    trace: Any = timeline_to_trace(timeline, graph, costs, cluster, ["image", "b", "c"])
    assert [name for _, name, _, _ in spans(trace, 1)] == ["image", "b", "c"]
    assert sorted(name for _, name, _, _ in spans(trace, 2)) == ["^image", "image:0"]
    whole = {event["name"]: event["args"].get("op") for event in trace["traceEvents"] if event["ph"] == "X"}
    assert whole == {"image": OPS[0].name, "image:0": OPS[0].name, "^image": OPS[0].name, "b": None, "c": None}
    waits = next(event for event in trace["traceEvents"] if event["name"] == "b")
    assert waits["args"]["waited for"] == "image:0"
