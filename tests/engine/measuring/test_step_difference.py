"""What explains the difference of two steps, in closed form on steps written by hand, and its sums on random ones."""

import dataclasses
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.clusters.cluster import Contention, MemoryModel
from engine.measuring import step_difference
from engine.measuring.explanation import ALLOCATED, ON_GPUS, RESIDENT, notes_on
from engine.measuring.measured_order import peaks_in_measured_order
from engine.measuring.step_difference import ADDED, difference, parts_of
from engine.measuring.step_record import (
    Sent,
    Spans,
    StepRecord,
    TracedStep,
    arrays_of,
    covered_us,
    measured_record,
    median_whole,
    simulated_record,
)
from engine.measuring.timelines import PROCESSES, timelines_to_trace
from engine.simulator import Simulator
from tests.engine.simulator.cases import Op, cluster_of, graph_of

DEVICES = ("/device:CPU:0", "/device:CPU:1")
HERE = ("/job:worker/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0")
SECOND_NS = 10**9


def ran(name: str, start_us: float, end_us: float) -> SimpleNamespace:
    """NodeExecStats of an op, whose record begins 2 µs before it."""
    times = {"all_start_nanos": SECOND_NS + int(1000 * start_us) - 2000, "op_start_rel_nanos": 2000}
    return SimpleNamespace(node_name=name, op_end_rel_nanos=2000 + int(1000 * (end_us - start_us)), **times)


def received(name: str, source: int, target: int, size: int, start_us: int, end_us: int) -> SimpleNamespace:
    """The record that a receiver makes of a transfer, in whole µs."""
    reported = f"[{size / 2**20:.1f}MB] [1.5Mb/s] edge_7_{name} from {HERE[source]} to {HERE[target]}"
    times = {"all_start_micros": SECOND_NS // 1000 + start_us, "all_end_rel_micros": end_us - start_us}
    description = SimpleNamespace(allocation_description=SimpleNamespace(requested_bytes=size))
    output = [SimpleNamespace(tensor_description=description)]
    return SimpleNamespace(node_name="RecvTensor", timeline_label=reported, output=output, **times)


STATS = SimpleNamespace(
    dev_stats=[
        SimpleNamespace(device=HERE[1], node_stats=[received("a", 0, 1, 400, 20, 50), received("a", 0, 1, 0, 30, 60)]),
        SimpleNamespace(device=HERE[0], node_stats=[ran("_SOURCE", 5, 6), ran("a", 10, 20)]),
        SimpleNamespace(device=HERE[1], node_stats=[ran("b", 60, 90)]),
        SimpleNamespace(device="/job:worker/replica:0/task:1/device:GPU:0/stream:all", node_stats=[ran("b", 0, 1)]),
    ]
)
"""a step of 100 µs: a on the first device, b on the second one, which needs an output and the end of a"""


def measured_step() -> StepRecord:
    arrays, names = arrays_of(STATS, HERE, SECOND_NS)
    return measured_record(arrays | {"traced_us": np.array([100.0])}, names, ("b", "a"))


def step(ops: list[tuple[int, int, float, float]], sent: list[tuple[int, int, int, float, float]]) -> StepRecord:
    """(op, device, start, end), (op, source, destination, start, end); each op is followed by 1 µs of rest."""
    columns, of_sent = np.array(ops, float).reshape(-1, 4).T, np.array(sent, float).reshape(-1, 5).T
    spans = Spans(columns[0].astype(int), columns[1].astype(int), columns[2], columns[3])
    sizes = np.full(len(sent), 400)
    moved = Sent(of_sent[0].astype(int), of_sent[2].astype(int), of_sent[3], of_sent[4], of_sent[1].astype(int), sizes)
    ends = np.concatenate((columns[3] + 1.0, of_sent[4]))
    return StepRecord(float(ends.max()), spans, moved, np.ones(len(ops)))


SIMULATED = step([(1, 0, 0, 8), (0, 1, 39, 64)], [(1, 0, 1, 9, 39)])
"""the same graph, simulated: 65 µs"""


def test_the_spans_of_step_stats_are_those_of_devices_since_the_beginning_of_the_step() -> None:
    record = measured_step()
    assert record.added == ("_SOURCE",) and not record.rest_after_us.any()
    assert [record.ran.op.tolist(), record.ran.device.tolist()] == [[2, 1, 0], [0, 0, 1]]
    assert [record.ran.start_us.tolist(), record.ran.end_us.tolist()] == [[5, 10, 60], [6, 20, 90]]
    sent = record.sent
    assert [sent.op.tolist(), sent.source.tolist(), sent.device.tolist()] == [[1, 1], [0, 0], [1, 1]]
    assert [sent.bytes.tolist(), sent.start_us.tolist(), sent.end_us.tolist()] == [[400, 0], [20, 30], [50, 60]]


@pytest.mark.parametrize(
    ("transfers", "chosen"),
    [([3, 3, 3, 3, 3], 2), ([3, 3, 0, 3, 3], 1), ([0, 0, 0, 0, 3], 4), ([0, 0, 0], 1), ([3], 0)],
)
def test_a_step_whose_transfers_were_not_all_traced_is_not_chosen(transfers: list[int], chosen: int) -> None:
    """The durations are drawn in order, then shuffled."""
    steps = [
        TracedStep(1.0 + number, {"sent": np.zeros((count, 4), np.int64)}, []) for number, count in enumerate(transfers)
    ]
    shuffled = [steps[index] for index in np.random.default_rng(0).permutation(len(steps))]
    assert median_whole(shuffled) is steps[chosen]


@pytest.mark.parametrize(
    ("spans", "covered"),
    [([], 0), ([(3, 5)], 2), ([(0, 4), (1, 2), (6, 7)], 5), ([(6, 9), (0, 4), (3, 7)], 9), ([(1, 1), (4, 4)], 0)],
)
def test_covered_time_counts_each_moment_once(spans: list[tuple[float, float]], covered: float) -> None:
    starts, ends = np.array(spans, dtype=np.float64).reshape(-1, 2).T
    assert covered_us(starts, ends) == covered


def test_the_parts_of_a_devices_time() -> None:
    """The measured step's spans lie between 5 and 90 µs."""
    named = ("busy_us", "resting_us", "receiving_us", "waiting_us", "outside_us")
    parts = [
        [parts_of(record, device)[name] for name in named]
        for record in (measured_step(), SIMULATED)
        for device in (0, 1)
    ]
    assert parts == [[11, 0, 0, 74, 15], [30, 0, 40, 15, 15], [8, 1, 0, 56, 0], [25, 1, 30, 9, 0]]


def test_tables_have_the_largest_differences_first() -> None:
    reported: Any = json.loads(json.dumps(difference(measured_step(), SIMULATED, DEVICES, ("b", "a"), ("Mul", "Add"))))
    ops = [(row["op"], row["type"], row["device"], row["difference_us"]) for row in reported["ops"]["rows"]]
    assert ops == [
        ("b", "Mul", DEVICES[1], 5.0),
        ("a", "Add", DEVICES[0], 2.0),
        ("_SOURCE", ADDED, DEVICES[0], 1.0),
    ]
    assert [row["type"] for row in reported["op_types"]["rows"]] == ["Mul", "Add", ADDED]
    (link,), (transfer,) = reported["links"]["rows"], reported["transfers"]["rows"]
    counts = {"measured_count": 2, "measured_bytes": 400, "simulated_count": 1, "simulated_bytes": 400}
    figures = counts | {"measured_us": 60.0, "simulated_us": 30.0, "difference_us": 30.0}
    covered = {"measured_covered_us": 40.0, "simulated_covered_us": 30.0}
    assert link == {"source": DEVICES[0], "target": DEVICES[1]} | figures | covered
    assert transfer == {"op": "a", "target": DEVICES[1]} | figures


def random_step(rng: np.random.Generator) -> StepRecord:
    """Ops one after the other on each of two devices, and transfers at any time."""
    ops, time_us = [], [0.0, 0.0]
    for op in rng.permutation(40).tolist():
        device = int(rng.integers(2))
        start_us = time_us[device] + rng.exponential(3.0)
        time_us[device] = start_us + rng.exponential(5.0) + 1.0
        ops.append((op, device, start_us, time_us[device] - 1.0))
    starts = rng.uniform(0.0, max(time_us), 20)
    sent = [(int(rng.integers(40)), way, 1 - way, at, at + rng.exponential(9.0)) for way in (0, 1) for at in starts]
    return step(ops, sent)


def test_every_table_adds_up_to_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_difference, "ROWS", 5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        one, other = random_step(rng), random_step(rng)
        reported: Any = difference(one, other, DEVICES, [str(op) for op in range(40)], ["Add", "Mul"] * 20)
        for name in ("op_types", "ops", "links", "transfers"):
            spans = ("ran",) if name in ("op_types", "ops") else ("sent",)
            rows = [*reported[name]["rows"], reported[name]["rest"]]
            for side, record in (("measured", one), ("simulated", other)):
                of_side = getattr(record, spans[0])
                assert sum(row[f"{side}_us"] for row in rows) == pytest.approx(of_side.time_us.sum())
                assert sum(row[f"{side}_count"] for row in rows) == len(of_side.op)
            differences = [abs(row["difference_us"]) for row in rows[:-1]]
            assert differences == sorted(differences, reverse=True) and len(differences) <= 5
        for record in (one, other):
            for device in (0, 1):
                parts = parts_of(record, device)
                assert sum(parts.values()) == pytest.approx(record.step_time_us)
                assert min(parts.values()) >= -1e-9
                assert parts["busy_us"] == pytest.approx(record.ran.on(device).time_us.sum())


OPS = [Op("a", time_us=10, outputs=[1000]), Op("b", ["a"], time_us=5), Op("c", ["a"], time_us=5), Op("d", ["^b", "c"])]


@pytest.mark.parametrize("contention", Contention)
def test_a_simulated_step_has_the_sums_of_its_timeline_and_a_transfer_for_each_destination(
    contention: Contention,
) -> None:
    graph, costs = graph_of(OPS)
    timeline = Simulator(graph, costs, cluster_of(3, contention)).timeline(np.array([0, 1, 2, 0], dtype=np.int32))
    record = simulated_record(timeline)
    for device in range(3):
        parts = parts_of(record, device)
        assert parts["busy_us"] == pytest.approx(timeline.busy_us[device])
        assert parts["resting_us"] == pytest.approx(timeline.rest_us[device])
        assert sum(parts.values()) == pytest.approx(timeline.step_time_us)
    ways = sorted(zip(record.sent.op.tolist(), record.sent.source.tolist(), record.sent.device.tolist(), strict=True))
    assert ways == [(0, 0, 1), (0, 0, 2), (1, 1, 0), (2, 2, 0)]


def test_what_was_not_measured_is_reported() -> None:
    """A trace on GPUs, and statistics of an allocator."""
    ran_on_cpus: dict[str, Any] = {"ran": np.zeros((0, 2))}
    assert notes_on({}) == [ON_GPUS] and notes_on(ran_on_cpus) == []
    assert notes_on(ran_on_cpus | {"memory": np.array([[5.0, 9.0], [0.0, 2.0]])}) == [ALLOCATED]
    assert notes_on(ran_on_cpus | {"memory": np.array([[np.nan, 9.0], [np.nan, 2.0]])}) == [RESIDENT]


PAIRS = [Op("a", outputs=[1000], time_us=1), Op("b", outputs=[1000], time_us=1), Op("c", ["a"], 1), Op("d", ["b"], 1)]


def test_memory_in_the_measured_order() -> None:
    """First in, first out both outputs are there at once; one after the other they are not."""
    graph, costs = graph_of(PAIRS)
    cluster = cluster_of(1)
    timeline = Simulator(graph, costs, cluster).timeline(np.zeros(4, dtype=np.int32))
    measured = step([(0, 0, 0, 1), (2, 0, 2, 3), (1, 0, 4, 5), (3, 0, 6, 7)], [])
    assert timeline.peak_bytes.tolist() == [2000]
    assert peaks_in_measured_order(measured, timeline, graph, costs, cluster) == [1000]
    assert peaks_in_measured_order(simulated_record(timeline), timeline, graph, costs, cluster) == [2000]


@pytest.mark.parametrize("memory_model", MemoryModel)
def test_memory_in_the_simulated_order_is_the_simulated_peak(memory_model: MemoryModel) -> None:
    rng = np.random.default_rng(0)
    names = [f"op_{index:02}" for index in range(30)]
    ops = [
        Op(name, [*rng.choice(names[:index], min(index, 2), replace=False)], float(rng.integers(1, 50)), [1000 + index])
        for index, name in enumerate(names)
    ]
    graph, costs = graph_of(ops)
    cluster = dataclasses.replace(cluster_of(3, Contention.PAIR), memory_model=memory_model)
    simulator = Simulator(graph, costs, cluster)
    for placement in rng.integers(0, 3, (5, 30)).astype(np.int32):
        timeline = simulator.timeline(placement)
        found = peaks_in_measured_order(simulated_record(timeline), timeline, graph, costs, cluster)
        assert found == timeline.peak_bytes.tolist()


def test_both_steps_are_tracks_of_one_trace() -> None:
    graph, costs = graph_of([Op("b", ["a"], time_us=5), Op("a", time_us=10, outputs=[1000])])
    cluster = cluster_of(2, Contention.PAIR)
    timeline = Simulator(graph, costs, cluster).timeline(np.array([1, 0], dtype=np.int32))
    trace: Any = timelines_to_trace(measured_step(), timeline, graph, costs, cluster)
    events = json.loads(json.dumps(trace, allow_nan=False))["traceEvents"]
    names = {each["pid"]: each["args"]["name"] for each in events if each["name"] == "process_name"}
    assert names == PROCESSES
    spans = [(names[each["pid"]], each["name"], each["ts"], each["dur"]) for each in events if each["ph"] == "X"]
    assert sorted(spans)[:3] == [
        ("measured devices", "_SOURCE", 5, 1),
        ("measured devices", "a", 10, 10),
        ("measured devices", "b", 60, 30),
    ]
    assert ("simulated devices", "a", 0, 10) in spans and ("simulated links", "a:0", 10, 10) in spans
    moved = [(each["ph"], each["name"], each["ts"]) for each in events if each.get("cat") == "measured transfer"]
    assert moved == [("b", "a", 20), ("e", "a", 50), ("b", "a", 30), ("e", "a", 60)]
    assert trace["otherData"]["traced_step_time_us"] == 100
