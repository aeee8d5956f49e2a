"""What holds on every timeline, whatever the graph, the cluster and the placement."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from engine.clusters.cluster import Contention
from engine.simulator import Simulator
from engine.simulator.bound import lower_bound_us
from engine.simulator.executed import executed_part
from engine.simulator.timeline import NOT_WAITED, Timeline
from tests.engine.simulator.cases import Case, cases

CLOSE = 1e-9


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(most_ops=30, most_devices=4, placements=2))
def test_every_timeline_keeps_the_rules(case: Case) -> None:
    simulator = Simulator(case.graph, case.costs, case.cluster)
    for placement in case.placements:
        timeline = simulator.timeline(placement)
        assert timeline.device_of_op.tolist() == placement.tolist()
        every_op_takes_its_time(case, timeline)
        ops_of_a_device_do_not_overlap(case, timeline)
        a_sender_does_nothing_else(case, timeline)
        transfers_of_a_channel_do_not_overlap(case, timeline)
        inputs_arrive_before_their_op_starts(case, timeline)
        the_step_is_no_shorter_than_its_parts(case, timeline)
        memory_ends_with_what_persists(case, timeline)
        each_start_is_explained(case, timeline)


def every_op_takes_its_time(case: Case, timeline: Timeline) -> None:
    times = case.costs.time_on([device.kind for device in case.cluster.devices])
    own = times[timeline.device_of_op, np.arange(case.graph.op_count)]
    assert np.all(timeline.end_us == timeline.start_us + own)
    assert np.all(timeline.start_us >= 0)


def ops_of_a_device_do_not_overlap(case: Case, timeline: Timeline) -> None:
    rests = case.cluster.op_rests_us[timeline.device_of_op] * case.costs.rests_of_op()
    rest = np.where(timeline.end_us > timeline.start_us, rests, 0)
    for device in range(case.cluster.device_count):
        ops = np.flatnonzero(timeline.device_of_op == device)
        ops = ops[np.lexsort((timeline.end_us[ops], timeline.start_us[ops]))]
        assert np.all(timeline.start_us[ops[1:]] >= (timeline.end_us + rest)[ops[:-1]])


def a_sender_does_nothing_else(case: Case, timeline: Timeline) -> None:
    if case.cluster.contention != Contention.SENDER:
        assert not timeline.sending_us.any()
        return
    transfers = timeline.transfers
    bandwidth = case.cluster.bandwidth_bytes_per_us[transfers.source, transfers.destinations]
    kept_us = (transfers.bytes / bandwidth + case.cluster.link_rest_us) * transfers.trips
    rests = case.cluster.op_rests_us[timeline.device_of_op] * case.costs.rests_of_op()
    rest = np.where(timeline.end_us > timeline.start_us, rests, 0)
    for device in range(case.cluster.device_count):
        ops, sends = timeline.device_of_op == device, transfers.source == device
        start_us = np.concatenate((timeline.start_us[ops], transfers.start_us[sends]))
        free_us = np.concatenate(((timeline.end_us + rest)[ops], (transfers.start_us + kept_us)[sends]))
        order = np.lexsort((free_us, start_us))
        assert np.all(start_us[order[1:]] >= free_us[order[:-1]] * (1 - CLOSE))
        assert timeline.sending_us[device] == pytest.approx(
            kept_us[sends].sum(), rel=CLOSE, abs=CLOSE * start_us.max(initial=0)
        )


def transfers_of_a_channel_do_not_overlap(case: Case, timeline: Timeline) -> None:
    transfers = timeline.transfers
    if case.cluster.contention in (Contention.NONE, Contention.SENDER):
        return
    channel = transfers.source.astype(np.int64)
    if case.cluster.contention == Contention.PAIR:
        assert np.all(np.diff(transfers.destination_offset) == 1)
        channel = channel * 100 + transfers.destinations
    order = np.lexsort((transfers.end_us, transfers.start_us, channel))
    together = channel[order[1:]] == channel[order[:-1]]
    free_us = (transfers.end_us + case.cluster.link_rest_us * transfers.trips)[order[:-1]]
    assert np.all(transfers.start_us[order[1:]][together] >= free_us[together])


def inputs_arrive_before_their_op_starts(case: Case, timeline: Timeline) -> None:
    transfers, graph, trips = timeline.transfers, case.graph, case.costs.trips_of_op()
    assert np.all(transfers.start_us >= timeline.end_us[transfers.op])
    bounds = transfers.destination_offset
    arrivals = {
        (int(transfers.op[index]), int(transfers.output[index]), int(device)): float(transfers.end_us[index])
        for index in range(len(transfers))
        for device in transfers.destinations[bounds[index] : bounds[index + 1]]
    }
    assert len(arrivals) == bounds[-1], "an output was sent twice to one device"
    needed = set()
    edges = zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True)
    for source, target, output in edges:
        arrival = timeline.end_us[source]
        if min(trips[source], trips[target]) == 0:
            continue
        if timeline.device_of_op[source] != timeline.device_of_op[target]:
            key = (source, output, int(timeline.device_of_op[target]))
            needed.add(key)
            arrival = arrivals[key]
        assert timeline.start_us[target] >= arrival
    assert needed == set(arrivals), "something was sent that nobody needs"


def the_step_is_no_shorter_than_its_parts(case: Case, timeline: Timeline) -> None:
    end = timeline.step_time_us * (1 + CLOSE)
    assert np.all(timeline.busy_us + timeline.rest_us + timeline.sending_us <= end)
    assert end >= timeline.end_us.max()
    assert end >= timeline.transfers.end_us.max(initial=0)
    feasible = np.all(timeline.peak_bytes <= [device.memory_bytes for device in case.cluster.devices])
    if feasible:
        assert timeline.step_time_us >= lower_bound_us(case.graph, case.costs, case.cluster)
    assert np.all(timeline.busy_share + timeline.idle_share <= 1 + CLOSE)


def memory_ends_with_what_persists(case: Case, timeline: Timeline) -> None:
    persists = case.cluster.memory_model != "outputs"
    kept = executed_part(case.graph, case.costs)[1].kept_bytes()
    for device, curve in enumerate(timeline.memory):
        here = timeline.device_of_op == device
        persistent = kept[here].sum() if persists else 0
        assert curve.bytes[-1] == persistent
        assert np.all(curve.bytes >= persistent)
        assert np.all(np.diff(curve.time_us) > 0)
        assert curve.bytes.max() == timeline.peak_bytes[device]


def each_start_is_explained(case: Case, timeline: Timeline) -> None:
    """An activity starts at once when what it waited for has ended (and rested); the critical path ends the step."""
    start = np.concatenate((timeline.start_us, timeline.transfers.start_us))
    end = np.concatenate((timeline.end_us, timeline.transfers.end_us))
    waited = timeline.waited_for != NOT_WAITED
    awaited = timeline.waited_for[waited]
    gap = start[waited] - end[awaited]
    op_rests = case.cluster.op_rests_us[timeline.device_of_op] * case.costs.rests_of_op()
    link_rests = np.full(len(timeline.transfers), case.cluster.link_rest_us)
    if case.cluster.contention == Contention.SENDER:  # it is free when the latency is over, and does not wait for it
        link_rests -= case.cluster.latency_us[timeline.transfers.source, timeline.transfers.destinations]
    rests = np.concatenate((op_rests, link_rests * timeline.transfers.trips))
    assert np.all(np.minimum(np.abs(gap), np.abs(gap - rests[awaited])) <= CLOSE * end.max())
    assert np.all(start[~waited] == 0)
    last = timeline.critical_path[-1]
    after_us = timeline.step_time_us - end[last]
    assert min(abs(after_us), abs(after_us - rests[last])) <= CLOSE * timeline.step_time_us
    assert timeline.waited_for[timeline.critical_path[0]] == NOT_WAITED
    assert timeline.waited_for[timeline.critical_path[1:]].tolist() == timeline.critical_path[:-1].tolist()


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(most_ops=30, placements=1))
def test_one_device_takes_the_sum_of_times_and_rests(case: Case) -> None:
    for device in range(case.cluster.device_count):
        own = case.costs.time_on([case.cluster.devices[device].kind])[0]
        placement = np.full((1, case.graph.op_count), device, dtype=np.int32)
        step_time_us = Simulator(case.graph, case.costs, case.cluster).evaluate(placement).step_time_us[0]
        expected = own.sum() + case.cluster.op_rests_us[device] * case.costs.rests_of_op()[own != 0].sum()
        assert abs(step_time_us - expected) <= CLOSE * max(expected, 1)
