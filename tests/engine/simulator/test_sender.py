"""What `sender` means, on graphs small enough to be worked out by hand."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from engine.clusters.cluster import Cluster, Contention
from engine.explaining.chain import Cause, chain_of
from engine.explaining.idle import IdleCause, idle_of
from engine.simulator import Simulator, Timeline
from tests.engine.simulator.cases import Op, cluster_of, graph_of

KEPT_US = 10 + 2
"""1,000 bytes at 100 bytes a µs, and the rest"""


def threads(devices: int = 2, **figures: Any) -> Cluster:
    usual = {"latency_us": 30.0, "link_rest_us": 2.0, "op_rest_us": 0.0}
    return cluster_of(devices, Contention.SENDER, **(usual | figures))


def simulated(ops: list[Op], devices: list[int], cluster: Cluster) -> Timeline:
    graph, costs = graph_of(ops)
    return Simulator(graph, costs, cluster).timeline(np.array(devices, dtype=np.int32))


def starts(timeline: Timeline) -> list[float]:
    return [round(float(start), 9) for start in timeline.start_us]


def test_a_fork_sends_after_the_whole_chain_beside_it() -> None:
    """Depth first: the chain b, c on the sender's own device goes on before the transfer to d."""
    ops = [Op("a", (), 10, [1000]), Op("b", ["a"], 20), Op("c", ["b"], 20), Op("d", ["a"], 5)]
    timeline = simulated(ops, [0, 0, 0, 1], threads())
    assert starts(timeline) == [0, 10, 30, 50 + 30 + 10]
    assert timeline.transfers.start_us.tolist() == [50]
    assert timeline.sending_us.tolist() == [KEPT_US, 0]
    assert timeline.idle_share.tolist() == pytest.approx([1 - 62 / 95, 1 - 5 / 95])


def test_a_sender_computes_nothing_and_the_bytes_travel_meanwhile() -> None:
    """r is ready all the time but waits while a is sent; it runs while the bytes are under way."""
    ops = [Op("a", (), 10, [1000]), Op("r", (), 7), Op("d", ["a"], 5)]
    timeline = simulated(ops, [0, 0, 1], threads())
    assert starts(timeline) == [0, 10 + KEPT_US, 10 + 30 + 10]
    assert timeline.waited_for.tolist() == [-1, 3, 3, 0]
    chain = chain_of(timeline, threads())
    assert [Cause(cause).name for cause in chain.cause] == ["COMPUTE", "LINK", "TRANSFER", "COMPUTE"]
    idle = idle_of(timeline)
    assert [(int(d), IdleCause(c).name) for d, c in zip(idle.device, idle.cause, strict=True)] == [
        (0, "END"),
        (1, "LINK"),
    ]
    assert (idle.start_us[0], idle.end_us[0]) == (29.0, 55.0), "sending is no idling"


def test_a_device_may_send_right_after_it_idled() -> None:
    """b takes no time, so the transfer to c is the first thing that GPU 1 does after its idle time."""
    ops = [Op("a", (), 10, [1000]), Op("b", ["a"], 0, [1000]), Op("c", ["b"], 5)]
    timeline = simulated(ops, [0, 1, 0], threads())
    idle = idle_of(timeline)
    of_second = idle.device == 1
    assert idle.before_op[of_second].tolist() == [1, -1] and idle.end_us[of_second].tolist() == [50, 95]
    assert idle.waits_us[of_second][0].tolist() == [10.0, 40.0, 0.0, 0.0]


def test_of_several_ready_ops_the_last_by_name_runs_first_and_what_arrives_runs_last() -> None:
    ops = [
        Op("s", (), 1, [0]),
        Op("from_s", ["s"], 3),
        Op("a", (), 10),
        Op("b", ["a"], 30),
        Op("c", ["a"], 40),
    ]
    timeline = simulated(ops, [1, 0, 0, 0, 0], threads())
    assert starts(timeline) == [0, 80, 0, 50, 10], "s's signal came at 31, before b was begun"


def test_one_destination_after_the_other() -> None:
    """The last pushed goes first: the transfer whose first consumer comes last in the file."""
    ops = [Op("a", (), 10, [1000]), Op("b", ["a"], 1), Op("c", ["a"], 1)]
    timeline = simulated(ops, [0, 1, 2], threads(3))
    assert starts(timeline) == [0, 10 + KEPT_US + 40, 10 + 40]
    assert timeline.step_time_us == 10 + KEPT_US + 40 + 1


def test_a_busy_receiver_delays_nothing() -> None:
    ops = [Op("a", (), 10, [1000]), Op("busy", (), 500), Op("d", ["a"], 5)]
    timeline = simulated(ops, [0, 1, 1], threads())
    assert timeline.transfers.end_us.tolist() == [50] and starts(timeline) == [0, 0, 500]


def test_all_trips_of_a_transfer_occupy_its_sender() -> None:
    ops = [Op("a", (), 10, [1000], trips=3), Op("r", (), 7), Op("d", ["a"], 5, trips=3)]
    timeline = simulated(ops, [0, 0, 1], threads())
    assert timeline.transfers.end_us.tolist() == [30 + 3 * 40]
    assert starts(timeline) == [0, 30 + 3 * KEPT_US, 150]


def test_ops_that_pass_their_input_on_run_at_once_in_order() -> None:
    """a makes i, j and b ready: i and j run before b, in order, and of what these make ready the last runs next."""
    ops = [Op("w", (), 5), Op("a", (), 10), Op("b", ["a"], 20), Op("i", ["a"], 1), Op("j", ["a"], 1)]
    ops += [Op("of_i", ["i"], 7), Op("of_j", ["j"], 7), Op("const", (), 0.5)]
    graph, costs = graph_of(ops)
    inline = {"i": "Identity", "j": "Reshape", "const": "Const"}
    graph = dataclasses.replace(graph, op_types=tuple(inline.get(op.name, "MatMul") for op in ops))
    timeline = Simulator(graph, costs, threads(1)).timeline(np.zeros(len(ops), np.int32))
    order = [ops[op].name for op in np.argsort(timeline.start_us)]
    assert order == ["const", "w", "a", "i", "j", "of_j", "of_i", "b"]


def test_on_one_device_only_the_order_differs() -> None:
    ops = [Op("a", (), 10, [5]), Op("b", (), 20), Op("c", ["a"], 30), Op("d", ["b"], 1)]
    depth_first, first_in = (
        simulated(ops, [0] * 4, cluster_of(1, each)) for each in (Contention.SENDER, Contention.BUS)
    )
    assert depth_first.step_time_us == pytest.approx(first_in.step_time_us)
    assert np.argsort(depth_first.start_us).tolist() == [0, 2, 1, 3]
    assert np.argsort(first_in.start_us).tolist() == [0, 1, 2, 3]


def test_depth_first_holds_the_outputs_of_one_branch_at_a_time() -> None:
    """Two layers of two branches each: first in, first out makes both large outputs before either is used."""
    branches = [
        op
        for i in "xy"
        for op in (Op(f"{i}0", (), 1, [1]), Op(f"{i}1", [f"{i}0"], 1, [1000]), Op(f"{i}2", [f"{i}1"], 1))
    ]
    peaks = [
        int(simulated(branches, [0] * 6, cluster_of(1, each)).peak_bytes[0])
        for each in (Contention.SENDER, Contention.PAIR)
    ]
    assert peaks == [1001, 2001]
