"""What holds for the explanation of every step: sums are whole, waits are real, and a twin agrees."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from engine.clusters.cluster import Contention, MemoryModel
from engine.explaining.chain import Cause, Chain, chain_of
from engine.explaining.holding import ByteClass, Holders, class_of_holding, peaks_of, persistent_classes
from engine.explaining.idle import IdleCause, idle_of
from engine.explaining.slack import slack_of
from engine.simulator import Simulator, Timeline
from engine.simulator.timeline import NOT_WAITED, Held
from tests.engine.simulator.cases import Case, Op, cases, cluster_of, graph_of

CLOSE = 1e-9
PER_CASE = settings(max_examples=150, suppress_health_check=list(HealthCheck))


def steps(case: Case) -> list[tuple[Simulator, Timeline]]:
    simulator = Simulator(case.graph, case.costs, case.cluster)
    return [(simulator, simulator.timeline(placement)) for placement in case.placements]


@PER_CASE
@given(case=cases(most_ops=30, most_devices=4, placements=2))
def test_the_segments_of_the_chain_tile_the_step(case: Case) -> None:
    for _, timeline in steps(case):
        chain = chain_of(timeline, case.cluster)
        edge = np.concatenate((chain.start_us, [timeline.step_time_us]))
        if len(chain.start_us):
            assert edge[0] == 0 and np.all(edge[1:] == chain.end_us)
        assert abs(chain.sum_us().sum() - timeline.step_time_us) <= 1e-6 * timeline.step_time_us
        rests = np.isin(chain.cause, (Cause.REST, Cause.LINK))
        rest_somewhere = case.cluster.op_rests_us.any() or case.cluster.link_rest_us or case.cluster.latency_us.any()
        assert rest_somewhere or not rests.any()
        assert np.all((chain.behind != NOT_WAITED)[np.isin(chain.cause, (Cause.QUEUE, Cause.REST))])
        works = np.isin(chain.cause, (Cause.COMPUTE, Cause.TRANSFER))
        begins_us = np.concatenate((timeline.start_us, timeline.transfers.start_us))[chain.activity[works]]
        ends_us = np.concatenate((timeline.end_us, timeline.transfers.end_us))[chain.activity[works]]
        assert np.all(chain.start_us[works] >= begins_us) and np.all(chain.end_us[works] == ends_us)


@PER_CASE
@given(case=cases(most_ops=30, most_devices=4, placements=2))
def test_idle_times_fill_what_a_device_neither_runs_nor_rests(case: Case) -> None:
    for _, timeline in steps(case):
        idle = idle_of(timeline)
        length_us = idle.end_us - idle.start_us
        assert np.all(length_us > 0)
        sums = np.bincount(idle.device, length_us, case.cluster.device_count)
        expected = timeline.step_time_us - timeline.busy_us - timeline.rest_us - timeline.sending_us
        assert np.allclose(sums, expected, rtol=0, atol=CLOSE * timeline.step_time_us)
        assert np.allclose(idle.waits_us.sum(axis=1), length_us, rtol=CLOSE, atol=CLOSE * timeline.step_time_us)
        assert np.all(idle.waits_us >= 0)
        assert np.array_equal(idle.before_op == NOT_WAITED, idle.cause == IdleCause.END)
        waits = idle.before_op != NOT_WAITED
        assert np.array_equal(timeline.start_us[idle.before_op[waits]], idle.end_us[waits])


@PER_CASE
@given(case=cases(most_ops=20, most_devices=3, placements=1))
def test_slack_is_what_an_end_may_be_late(case: Case) -> None:
    """A twin relaxes all constraints again and again until nothing changes."""
    for simulator, timeline in steps(case):
        slack_us = slack_of(timeline, simulator.executed)
        assert np.all(slack_us >= 0)
        tolerance = 1e-7 * max(1.0, timeline.step_time_us)
        assert np.all(slack_us[timeline.critical_path] <= tolerance)
        assert np.allclose(slack_us, slow_slack(simulator, timeline), rtol=0, atol=tolerance)


def slow_slack(simulator: Simulator, timeline: Timeline) -> list[float]:
    """[ops + transfers] by fixpoint."""
    graph, transfers = simulator.executed, timeline.transfers
    ops = graph.op_count
    start = [*timeline.start_us.tolist(), *transfers.start_us.tolist()]
    end = [*timeline.end_us.tolist(), *transfers.end_us.tolist()]
    waits = [(int(transfers.op[index]), ops + index, 0.0) for index in range(len(transfers))]
    for edge in range(graph.edge_count):
        sent = int(timeline.transfer_of_edge[edge])
        waits.append((int(graph.edge_source[edge]) if sent < 0 else ops + sent, int(graph.edge_target[edge]), 0.0))
    queues: dict[tuple[str, int], list[int]] = {}
    for op in range(ops):
        queues.setdefault(("device", int(timeline.device_of_op[op])), []).append(op)
    for index in range(len(transfers)):
        is_task = simulator.cluster.contention == Contention.SENDER
        queue = ("device", int(transfers.source[index])) if is_task else ("channel", int(transfers.channel[index]))
        queues.setdefault(queue, []).append(ops + index)
    for members in queues.values():
        long = [member for member in members if timeline.free_us[member] > start[member]]
        long.sort(key=lambda member: start[member])
        waits += [(one, two, float(timeline.rest_after_us[one])) for one, two in pairwise(long)]
    for activity, awaited in enumerate(timeline.waited_for.tolist()):
        if awaited != NOT_WAITED:
            waits.append((awaited, activity, start[activity] - end[awaited]))
    latest = [timeline.step_time_us - max(float(rest), 0.0) for rest in timeline.rest_after_us]
    changed = True
    while changed:
        changed = False
        for one, two, gap in waits:
            allowed = latest[two] - (end[two] - start[two]) - gap
            if allowed < latest[one] - 1e-12 * timeline.step_time_us:
                latest[one], changed = allowed, True
    return [late - ended for late, ended in zip(latest, end, strict=True)]


@PER_CASE
@given(case=cases(most_ops=30, most_devices=4, placements=2))
def test_what_is_held_at_the_peak_adds_up_to_it(case: Case) -> None:
    classes = persistent_classes(case.graph, case.costs)
    for simulator, timeline in steps(case):
        ends_us = np.concatenate((timeline.end_us, timeline.transfers.end_us))
        holders = Holders(timeline, simulator.executed, simulator.executed_costs)
        for device, peak in enumerate(peaks_of(timeline.holdings, timeline.memory, classes)):
            assert peak.bytes_of_class.sum() == timeline.peak_bytes[device]
            sizes = timeline.holdings.bytes[peak.holdings]
            assert sizes.sum() == timeline.peak_bytes[device]
            assert np.all(np.diff(sizes) <= 0)
            for holding in peak.holdings.tolist():
                until = holders.until(holding)
                if timeline.holdings.held[holding] == Held.PERSISTENT:
                    assert until == NOT_WAITED
                elif case.cluster.memory_model == MemoryModel.FULL:
                    assert ends_us[until] == timeline.holdings.end_us[holding]


def named(chain: Chain) -> list[tuple[int, str, float, float]]:
    columns = zip(chain.activity, chain.cause, chain.start_us, chain.end_us, strict=True)
    return [(int(activity), Cause(cause).name, float(start), float(end)) for activity, cause, start, end in columns]


def test_what_is_ready_waits_in_the_queue() -> None:
    """On one device: a, then b, then d, ready after a; c needs b through a free op, and stands behind d."""
    graph, costs = graph_of(
        [Op("a", (), 10.0), Op("b", (), 20.0), Op("c", ("free",), 5.0), Op("free", ("b",), 0.0), Op("d", ("a",), 40.0)]
    )
    cluster = cluster_of(1, op_rest_us=0.0)
    timeline = Simulator(graph, costs, cluster).timeline(np.zeros(5, dtype=np.int32))
    chain = chain_of(timeline, cluster)
    a, b, c, free, d = range(5)
    assert named(chain) == [
        (b, "QUEUE", 0.0, 10.0),
        (b, "COMPUTE", 10.0, 30.0),
        (free, "QUEUE", 30.0, 70.0),
        (c, "COMPUTE", 70.0, 75.0),
    ]
    assert chain.behind.tolist() == [a, NOT_WAITED, d, NOT_WAITED]


def test_a_chain_by_hand() -> None:
    """a (10 µs) on GPU 0 sends 100 bytes (1 + 1 µs) to b (20 µs) on GPU 1, where c (30 µs) runs first."""
    graph, costs = graph_of(
        [Op("a", (), 10.0, (100,)), Op("c", (), 30.0), Op("b", ("a", "c"), 20.0), Op("d", ("b",), 5.0)]
    )
    cluster = cluster_of(2, Contention.PAIR, latency_us=1.0, link_rest_us=2.0, op_rest_us=3.0)
    simulator = Simulator(graph, costs, cluster)
    timeline = simulator.timeline(np.array([0, 1, 1, 0], dtype=np.int32))
    chain = chain_of(timeline, cluster)
    assert named(chain) == [
        (1, "COMPUTE", 0.0, 30.0),
        (2, "REST", 30.0, 33.0),
        (2, "COMPUTE", 33.0, 53.0),
        (5, "LINK", 53.0, 54.0),
        (3, "COMPUTE", 54.0, 59.0),
        (3, "REST", 59.0, 62.0),
    ]
    idle = idle_of(timeline)
    gaps = [
        (int(device), float(start), float(end), IdleCause(cause).name)
        for device, start, end, cause in zip(idle.device, idle.start_us, idle.end_us, idle.cause, strict=True)
    ]
    assert gaps == [(0, 13.0, 54.0, "INPUT"), (1, 56.0, 62.0, "END")]
    assert idle.waits_us[0].tolist() == [20.0 + 17.0, 1.0, 3.0, 0.0], "b and c run, b's bytes move, b stands behind c"
    assert slack_of(timeline, graph).tolist() == [21.0, 0.0, 0.0, 0.0, 21.0, 0.0], "a may arrive when b begins"


@pytest.mark.parametrize(
    ("op_type", "place", "expected"),
    [
        ("ResourceApplyAdam", 0, ByteClass.WEIGHTS),
        ("ResourceApplyAdam", 1, ByteClass.SLOTS),
        ("ApplyMomentum", 1, ByteClass.SLOTS),
        ("ResourceSparseApplyAdagradV2", 1, ByteClass.SLOTS),
        ("AssignAddVariableOp", 0, ByteClass.STATE),
        ("AssignSub", 0, ByteClass.STATE),
        ("Assign", 0, ByteClass.WEIGHTS),
        ("ReadVariableOp", 0, ByteClass.WEIGHTS),
    ],
)
def test_variables_get_their_class_from_what_updates_them(op_type: str, place: int, expected: ByteClass) -> None:
    inputs = ["other", "other"]
    inputs[place] = "variable"
    graph, costs = graph_of(
        [Op("other", (), 1.0), Op("variable", (), 0.0, (8,), persistent=64), Op("update", inputs, 1.0)]
    )
    object.__setattr__(graph, "op_types", ("Const", "VarHandleOp", op_type))
    assert persistent_classes(graph, costs)[1] == expected
    timeline = Simulator(graph, costs, cluster_of(1)).timeline(np.zeros(3, dtype=np.int32))
    classes = class_of_holding(timeline.holdings, persistent_classes(graph, costs))
    assert classes[timeline.holdings.held == Held.PERSISTENT].tolist() == [expected]
