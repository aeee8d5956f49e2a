"""What transfers cost under each link model, on graphs small enough to be worked out by hand."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.simulator import Simulator, Timeline
from engine.simulator.timeline import NOT_WAITED
from tests.engine.simulator.cases import Op, cluster_of, graph_of


def simulated(ops: list[Op], devices: list[int], cluster: Cluster) -> Timeline:
    graph, costs = graph_of(ops)
    return Simulator(graph, costs, cluster).timeline(np.array(devices, dtype=np.int32))


def starts(timeline: Timeline) -> list[float]:
    return [round(float(start), 9) for start in timeline.start_us]


FORK = [
    Op("a", time_us=10, outputs=[1000]),
    Op("b", ["a"], time_us=1),
    Op("c", ["a"], time_us=1),
]


def test_on_a_bus_one_transfer_serves_all_devices() -> None:
    timeline = simulated(FORK, [0, 1, 2], cluster_of(3))
    assert starts(timeline) == [0, 20, 20]
    assert len(timeline.transfers) == 1
    assert timeline.transfers.destinations.tolist() == [1, 2]
    assert timeline.step_time_us == pytest.approx(45), "the bus rests"


def test_between_pairs_each_destination_has_its_own_transfer() -> None:
    timeline = simulated(FORK, [0, 1, 2], cluster_of(3, Contention.PAIR, latency_us=3))
    assert starts(timeline) == [0, 23, 23]
    assert timeline.transfers.destinations.tolist() == [1, 2]


def test_a_bus_is_as_fast_as_the_slowest_of_the_links_that_it_serves() -> None:
    cluster = unequal_links(np.array([[1, 100, 50], [1, 1, 1], [1, 1, 1.0]]), Contention.BUS)
    assert starts(simulated(FORK, [0, 1, 2], cluster)) == [0, 30, 30]
    assert starts(simulated(FORK, [0, 1, 1], cluster)) == [0, 20, 26.7]


def test_a_pair_has_its_own_bandwidth_each_way() -> None:
    cluster = unequal_links(np.array([[1, 100, 50], [10, 1, 1], [1, 1, 1.0]]), Contention.PAIR)
    assert starts(simulated(FORK, [0, 1, 2], cluster)) == [0, 20, 30]
    assert starts(simulated(FORK, [1, 0, 0], cluster)) == [0, 110, 116.7]


def unequal_links(bandwidth_bytes_per_us: NDArray[np.float64], contention: Contention) -> Cluster:
    count = len(bandwidth_bytes_per_us)
    return Cluster(
        devices=tuple(Device(f"/device:GPU:{index}", "K80", 10**9) for index in range(count)),
        contention=contention,
        bandwidth_bytes_per_us=bandwidth_bytes_per_us,
        latency_us=np.zeros((count, count)),
        link_rest_us=25.0,
        op_rest_us=5.7,
        memory_model=MemoryModel.FULL,
    )


TWO_OUTPUTS = [
    Op("a", time_us=10, outputs=[1000, 2000]),
    Op("b", ["a:0", "a:1"], time_us=1),
]


@pytest.mark.parametrize(
    ("contention", "start_us"), [(Contention.BUS, 65), (Contention.PAIR, 65), (Contention.NONE, 30)]
)
def test_two_outputs_to_one_consumer_are_both_sent(contention: Contention, start_us: float) -> None:
    """The published code sent only the last of them."""
    timeline = simulated(TWO_OUTPUTS, [0, 1], cluster_of(2, contention))
    assert timeline.transfers.output.tolist() == [0, 1]
    assert starts(timeline) == [0, start_us]


@pytest.mark.parametrize("contention", list(Contention))
def test_a_control_edge_moves_no_bytes(contention: Contention) -> None:
    """The published code charged it output 0."""
    ops = [Op("a", time_us=10, outputs=[10**6]), Op("b", ["^a"], time_us=1)]
    timeline = simulated(ops, [0, 1], cluster_of(2, contention, latency_us=3))
    rest_us = 5.7 if contention == Contention.SENDER else 0
    assert starts(timeline) == [0, 10 + rest_us + 3]
    assert timeline.transfers.bytes.tolist() == [0]


def test_a_signal_waits_for_its_turn_on_the_bus() -> None:
    ops = [Op("a", time_us=10, outputs=[1000]), Op("b", ["a"], time_us=1), Op("c", ["^a"], time_us=1)]
    assert starts(simulated(ops, [0, 1, 2], cluster_of(3))) == [0, 20, 45]


def test_transfers_queue_in_the_order_of_their_first_remote_consumer_in_the_file() -> None:
    ops = [
        Op("a", time_us=10, outputs=[1000, 2000]),
        Op("z", ["a:1"], time_us=1),
        Op("b", ["a:0"], time_us=1),
    ]
    assert starts(simulated(ops, [0, 1, 1], cluster_of(2))) == [0, 30, 65]


def test_without_contention_transfers_do_not_wait() -> None:
    ops = [Op("a", outputs=[1000]), Op("b", outputs=[1000]), Op("c", ["a"]), Op("d", ["b"])]
    timeline = simulated(ops, [0, 0, 1, 1], cluster_of(2, Contention.NONE))
    assert starts(timeline) == [0, 0, 10, 10]
    assert timeline.step_time_us == 10, "no link that could rest"


def test_an_op_that_takes_no_time_lets_its_device_not_rest() -> None:
    ops = [Op("a", time_us=0), Op("b", time_us=2), Op("c", time_us=3)]
    assert starts(simulated(ops, [0, 0, 0], cluster_of(1))) == [0, 0, 7.7]


def test_consumers_become_ready_in_the_order_of_their_names() -> None:
    ops = [Op("a", time_us=1), Op("z", ["a"], time_us=1), Op("b", ["a"], time_us=1)]
    assert starts(simulated(ops, [0, 0, 0], cluster_of(1))) == [0, 13.4, 6.7]


def test_times_are_those_of_the_devices_kind() -> None:
    graph, costs = graph_of([Op("a", time_us=4)])
    simulator = Simulator(graph, costs, cluster_of(1, op_rest_us=0))
    assert simulator.evaluate(np.zeros((1, 1), dtype=np.int32)).step_time_us[0] == 4


def test_the_critical_path_names_ops_and_transfers() -> None:
    ops = [
        Op("a", time_us=10, outputs=[1000]),
        Op("b", time_us=1, outputs=[500]),
        Op("c", ["b"], time_us=1),
        Op("d", ["a"], time_us=50),
    ]
    timeline = simulated(ops, [0, 0, 1, 1], cluster_of(2))
    a, b, c, d, sent_a, sent_b = range(6)
    assert starts(timeline) == [0, 15.7, 75.7, 20]
    assert timeline.transfers.op.tolist() == [a, b]
    awaited = {NOT_WAITED: [a], a: [b, sent_a], sent_a: [d, sent_b], d: [c]}
    assert {key: np.flatnonzero(timeline.waited_for == key).tolist() for key in awaited} == awaited
    assert timeline.critical_path.tolist() == [a, sent_a, d, c]
