"""Batches of micro-batches: by closed form for chains, and as the slow twin, which copies the graph, simulates them."""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, MemoryModel
from engine.costs.costs import Costs
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER, ComputationGraph
from engine.simulator import Simulator
from engine.simulator.streams.schedule import NOT_IN_TURNS
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.simulator.cases import Case, Op, cases, cluster_of, graph_of
from tests.engine.simulator.streams.drawn_batches import drawn_batch
from tests.engine.simulator.streams.slow_stream import slow_twin_of

DRAWN = 1000
STASHED, WEIGHTS = 1000, 7


def chain(forward_us: list[float], backward_us: list[float]) -> tuple[ComputationGraph, Costs]:
    """Stages in a row, forward and back, and an op of the optimizer for each; each forward output is needed back."""
    stages = range(len(forward_us))
    ops = [Op(f"f{i}", [f"f{i - 1}"] * (i > 0), forward_us[i], (STASHED,), persistent=WEIGHTS) for i in stages]
    ops += [
        Op(f"b{i}", [f"f{i}", *[f"b{i + 1}"] * (i + 1 < len(stages))], backward_us[i], (0,)) for i in reversed(stages)
    ]
    ops += [Op(f"u{i}", (f"b{i}",), 0.0) for i in stages]
    graph, costs = graph_of(ops)
    phase = [FORWARD] * len(stages) + [BACKWARD] * len(stages) + [OPTIMIZER] * len(stages)
    return dataclasses.replace(graph, phase=np.array(phase, np.uint8)), costs


def free_links(devices: int) -> Cluster:
    return cluster_of(devices, Contention.NONE, bandwidth_bytes_per_us=1e12, op_rest_us=0.0, link_rest_us=0.0)


def placed(device_of_stage: list[int]) -> NDArray[np.int32]:
    return np.array([*device_of_stage, *device_of_stage[::-1], *device_of_stage], np.int32)


@pytest.mark.parametrize("pipeline", [Pipeline.GPIPE, Pipeline.ONE_F_ONE_B])
@pytest.mark.parametrize("micro_batches", [1, 2, 3, 4, 9])
def test_equal_stages_fill_and_drain(pipeline: Pipeline, micro_batches: int) -> None:
    """(micro-batches + stages − 1) times a stage's forward and backward pass; Huang et al. 2019, section 2.3."""
    graph, costs = chain([10.0] * 4, [20.0] * 4)
    simulator = Simulator(graph, costs, free_links(4), stream=Stream(micro_batches, pipeline))
    batch = simulator.batch(placed([0, 1, 2, 3]))
    assert batch.batch_time_us == pytest.approx((micro_batches + 3) * 30.0)
    assert simulator.evaluate(placed([0, 1, 2, 3])[None]).step_time_us[0] == 30.0


@pytest.mark.parametrize("slowest", [0, 1, 2])
@pytest.mark.parametrize("micro_batches", [3, 8])
def test_the_slowest_stage_decides_with_gpipe(slowest: int, micro_batches: int) -> None:
    """Both passes: the first micro-batch through all stages, then the slowest stage once for each further one."""
    forward_us, backward_us = [10.0] * 3, [15.0] * 3
    forward_us[slowest], backward_us[slowest] = 40.0, 70.0
    graph, costs = chain(forward_us, backward_us)
    stream = Stream(micro_batches, Pipeline.GPIPE)
    batch = Simulator(graph, costs, free_links(3), stream=stream).batch(placed([0, 1, 2]))
    expected_us = sum(forward_us) + sum(backward_us) + (micro_batches - 1) * (40.0 + 70.0)
    assert batch.batch_time_us == pytest.approx(expected_us)


@pytest.mark.parametrize("micro_batches", [2, 3, 8])
def test_unequal_stages_with_one_forward_one_backward(micro_batches: int) -> None:
    """By hand: the order of each device's passes is fixed, so each begins when the pass before it on its device and the
    pass that feeds it have ended."""
    forward_us, backward_us = [10.0, 35.0, 20.0], [25.0, 30.0, 60.0]
    graph, costs = chain(forward_us, backward_us)
    stream = Stream(micro_batches, Pipeline.ONE_F_ONE_B)
    batch = Simulator(graph, costs, free_links(3), stream=stream).batch(placed([0, 1, 2]))
    assert batch.batch_time_us == pytest.approx(_by_recurrence(forward_us, backward_us, micro_batches))


def _by_recurrence(forward_us: list[float], backward_us: list[float], micro_batches: int) -> float:
    """The end of the published 1F1B: as many forward passes first as stages follow, itself included, then turns."""
    stages = len(forward_us)
    orders = []
    for stage in range(stages):
        first = min(stages - stage, micro_batches)
        order = [("f", micro) for micro in range(first)]
        for micro in range(micro_batches):
            order += [("b", micro), *[("f", micro + first)] * (micro + first < micro_batches)]
        orders.append(order)
    ends: dict[tuple[str, int, int], float] = {}
    free, place = [0.0] * stages, [0] * stages
    while any(place[stage] < len(orders[stage]) for stage in range(stages)):
        for stage in range(stages):
            if place[stage] == len(orders[stage]):
                continue
            part, micro = orders[stage][place[stage]]
            feeder = ("f", stage - 1, micro) if part == "f" else ("b", stage + 1, micro)
            is_first = feeder[1] in (-1, stages)
            if is_first or feeder in ends:
                start = max(free[stage], 0.0 if is_first else ends[feeder])
                free[stage] = ends[part, stage, micro] = start + (forward_us if part == "f" else backward_us)[stage]
                place[stage] += 1
    return max(free)


@pytest.mark.parametrize(("devices", "turns", "micro_batches"), [(2, 2, 4), (3, 2, 6), (4, 3, 8), (2, 4, 2)])
def test_interleaved_stages_shorten_the_fill(devices: int, turns: int, micro_batches: int) -> None:
    """A fill of (devices − 1) parts instead of whole stages; Narayanan et al. 2021, section 2.2.2."""
    graph, costs = chain([10.0] * (devices * turns), [20.0] * (devices * turns))
    stream = Stream(micro_batches, Pipeline.INTERLEAVED)
    in_turns = placed(list(range(devices)) * turns)
    batch = Simulator(graph, costs, free_links(devices), stream=stream).batch(in_turns)
    assert batch.schedule.note == ""
    assert batch.batch_time_us == pytest.approx((micro_batches * turns + devices - 1) * 30.0)


def test_what_is_not_in_turns_is_said() -> None:
    graph, costs = chain([10.0] * 4, [20.0] * 4)
    stream = Stream(4, Pipeline.INTERLEAVED)
    batch = Simulator(graph, costs, free_links(2), stream=stream).batch(placed([0, 1, 1, 0]))
    assert batch.schedule.note == NOT_IN_TURNS


@pytest.mark.parametrize("micro_batches", [1, 2, 3, 7])
def test_memory_in_flight(micro_batches: int) -> None:
    """1F1B holds as many micro-batches as stages follow, GPipe all; a stage holds copies of its inputs beside them."""
    graph, costs = chain([10.0] * 4, [20.0] * 4)
    peaks = {
        pipeline: Simulator(graph, costs, free_links(4), stream=Stream(micro_batches, pipeline))
        .batch(placed([0, 1, 2, 3]))
        .peak_bytes
        for pipeline in (Pipeline.GPIPE, Pipeline.ONE_F_ONE_B)
    }
    first = WEIGHTS + STASHED * np.array([min(micro_batches, 4), micro_batches])
    assert [peaks[Pipeline.ONE_F_ONE_B][0], peaks[Pipeline.GPIPE][0]] == first.tolist()
    for stage in (1, 2, 3):
        held = min(micro_batches, 4 - stage)
        assert WEIGHTS + STASHED * held <= peaks[Pipeline.ONE_F_ONE_B][stage] <= WEIGHTS + STASHED * (held + 2)
        assert WEIGHTS + STASHED * micro_batches <= peaks[Pipeline.GPIPE][stage]


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(placements=2))
def test_one_micro_batch_with_one_stage_a_device_is_a_step(case: Case) -> None:
    """To the bit, simultaneous events, loops and passed buffers included, where links and not devices send."""
    if case.cluster.contention is Contention.SENDER or case.cluster.memory_model is MemoryModel.OUTPUTS:
        return
    step = Simulator(case.graph, case.costs, case.cluster)
    stream = Simulator(case.graph, case.costs, case.cluster, stream=Stream(1, Pipeline.INFERENCE))
    for placement in case.placements:
        batch = stream.batch(placement)
        if len(np.unique(batch.schedule.device)) == len(batch.schedule.device) and not _is_late_by_name(case):
            expected = step.evaluate(placement[None])
            assert batch.batch_time_us == expected.step_time_us[0]
            assert batch.peak_bytes.tolist() == expected.peak_bytes[0].tolist()


def _is_late_by_name(case: Case) -> bool:
    return not len(case.graph.phase) and any("gradient" in name for name in case.graph.op_names)


def test_batches_are_the_slow_twins() -> None:
    """Times and peaks of memory of 1,000 drawn batches, with all five ways in which transfers wait."""
    several = 0
    for seed in range(DRAWN):
        graph, costs, cluster, stream, placement = drawn_batch(np.random.default_rng(seed))
        batch = Simulator(graph, costs, cluster, stream=stream).batch(placement)
        several += stream.micro_batches > 1 and len(batch.stages) > 2
        twin = slow_twin_of(batch, graph, costs, cluster)
        assert batch.batch_time_us == pytest.approx(twin.batch_us, rel=1e-9), seed
        for (micro, op), start in twin.start.items():
            assert batch.start_us[micro, op] == pytest.approx(start, rel=1e-9), (seed, micro, op)
        assert batch.peak_bytes.tolist() == twin.peaks(), seed
    assert several > DRAWN / 3
