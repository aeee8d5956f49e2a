"""An evaluation with a limit: it stops only where the step takes longer, and else says what it says without one."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.clusters.cluster import Contention
from engine.simulator import Simulator
from engine.simulator.event_loop import simulate_step
from engine.simulator.records import Scratch
from tests.engine.simulator.cases import Case, Op, cases, cluster_of, graph_of

SHARES = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 0.9, 0.99, 1.0 - 1e-12, 1.0, 1.0 + 1e-12, 1.01, 2.0, np.inf])
REST_US = 5.7


def peaks(scratch: Scratch) -> list[int]:
    return [int(device.peak_bytes) for device in scratch.devices]


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(placements=4), st.lists(SHARES, min_size=1, max_size=4))
def test_it_stops_only_above_its_limit_and_leaves_nothing_behind(case: Case, shares: list[float]) -> None:
    simulator = Simulator(case.graph, case.costs, case.cluster)
    used = simulator.new_scratch()
    for placement in case.placements:
        whole = simulator.new_scratch()
        step_time_us = simulate_step(simulator.tables, whole, placement)
        for share in shares:
            limit_us = share * step_time_us if step_time_us > 0 else share
            answer_us = simulate_step(simulator.tables, used, placement, limit_us)
            if np.isinf(answer_us):
                assert step_time_us > limit_us
            else:
                assert answer_us == step_time_us
                assert peaks(used) == peaks(whole)
                assert used.start_us.tolist() == whole.start_us.tolist()


def simulator_of(ops: list[Op], devices: int = 2, contention: Contention = Contention.BUS) -> Simulator:
    graph, costs = graph_of(ops)
    return Simulator(graph, costs, cluster_of(devices, contention, op_rest_us=REST_US))


def with_limit(simulator: Simulator, placement: list[int], limit_us: float) -> tuple[float, int]:
    """The answer, and how many ops had begun by then."""
    scratch = simulator.new_scratch()
    answer_us = simulate_step(simulator.tables, scratch, np.array(placement, np.int32), limit_us)
    return answer_us, sum(int(device.head) - int(device.first) for device in scratch.devices)


CHAIN = [Op("op0", (), 10.0, [0]), *(Op(f"op{index}", [f"op{index - 1}"], 10.0, [0]) for index in range(1, 10))]
ALONE_US = 10 * (10.0 + REST_US)


def test_work_that_takes_too_long_is_not_begun() -> None:
    assert with_limit(simulator_of(CHAIN), [0] * 10, ALONE_US - 0.001) == (np.inf, 0)


def test_the_limit_itself_is_not_too_long() -> None:
    step_time_us, _ = with_limit(simulator_of(CHAIN), [0] * 10, np.inf)
    assert step_time_us == pytest.approx(ALONE_US)
    assert with_limit(simulator_of(CHAIN), [0] * 10, step_time_us) == (step_time_us, 10)


def test_it_stops_where_the_other_device_can_no_longer_end_in_time() -> None:
    """The other device has five ops and begins 5 · (10 + rest) later than it could: its first op's end shows it."""
    assert with_limit(simulator_of(CHAIN), [0] * 5 + [1] * 5, ALONE_US - REST_US - 1) == (np.inf, 7)


@pytest.mark.parametrize("trips", [1, 3, 1000])
def test_work_counts_once_a_trip(trips: int) -> None:
    simulator = simulator_of([Op("op", (), 10.0, [0], trips=trips)])
    assert with_limit(simulator, [0], trips * (10 + REST_US) - 0.001) == (np.inf, 0)
    assert with_limit(simulator, [0], trips * (10 + REST_US) + 0.001)[0] == pytest.approx(trips * (10 + REST_US))


def test_ops_that_are_not_executed_are_no_work() -> None:
    simulator = simulator_of([Op("op", (), 10.0, [0]), Op("never", (), 1000.0, [0], trips=0)])
    assert with_limit(simulator, [0, 0], 20.0)[0] == 10 + REST_US


@pytest.mark.parametrize("contention", list(Contention))
def test_after_a_stop_the_next_evaluation_is_as_in_new_arrays(contention: Contention) -> None:
    """With 20 devices the event queue is a tree; transfers are under way when it stops."""
    ops = [Op("first", (), 1.0, [4000]), *(Op(f"op{index}", ["first"], 100.0 + index, [0]) for index in range(60))]
    simulator, placement = simulator_of(ops, 20, contention), np.arange(61, dtype=np.int32) % 20
    scratch = simulator.new_scratch()
    whole_us = simulate_step(simulator.tables, simulator.new_scratch(), placement)
    for share in (0.7, 0.9, 0.95, 0.99):
        simulate_step(simulator.tables, scratch, placement, share * whole_us)
        assert simulate_step(simulator.tables, scratch, placement) == whole_us
