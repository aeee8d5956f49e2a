"""The memory of a batch over time: its curves are the peaks that the batch itself counts, and the slow twin's."""

import dataclasses

import numpy as np
from hypothesis import HealthCheck, given, settings

from engine.clusters.cluster import Contention, MemoryModel
from engine.simulator import Simulator
from engine.simulator.streams.batch_memory import ALL_MICRO_BATCHES
from engine.simulator.streams.stream import Pipeline, Stream
from engine.simulator.timeline import Held
from tests.engine.simulator.cases import Case, cases
from tests.engine.simulator.streams.drawn_batches import drawn_batch

DRAWN = 1000


def test_the_curves_of_drawn_batches_reach_their_peaks_to_the_byte() -> None:
    """1,000 batches, with all five ways in which transfers wait; what is left at the end is persistent."""
    for seed in range(DRAWN):
        graph, costs, cluster, stream, placement = drawn_batch(np.random.default_rng(seed))
        batch, memory = Simulator(graph, costs, cluster, stream=stream).batch_and_memory(placement)
        for device, curve in enumerate(memory.curves):
            floor = int(costs.persistent_bytes[placement == device].sum())
            assert curve.bytes.max() == batch.peak_bytes[device], (seed, device)
            assert curve.bytes[-1] == floor, (seed, device)
            assert np.all(curve.bytes >= floor), (seed, device)
            assert np.all(np.diff(curve.time_us) > 0)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(placements=2))
def test_buffers_that_are_passed_on_are_held_once_in_each_micro_batch(case: Case) -> None:
    """Loops, branches that are not taken, passed buffers and all models of memory."""
    for micro_batches in (1, 3):
        stream = Stream(micro_batches, Pipeline.INFERENCE)
        simulator = Simulator(case.graph, case.costs, case.cluster, stream=stream)
        for placement in case.placements:
            batch, memory = simulator.batch_and_memory(placement)
            assert [int(curve.bytes.max()) for curve in memory.curves] == batch.peak_bytes.tolist()


def test_persistent_bytes_belong_to_no_micro_batch() -> None:
    graph, costs, cluster, _, placement = drawn_batch(np.random.default_rng(5))
    assert cluster.memory_model is MemoryModel.FULL
    stream = Stream(3, Pipeline.GPIPE)
    _, memory = Simulator(graph, costs, cluster, stream=stream).batch_and_memory(placement)
    persistent = memory.holdings.held == Held.PERSISTENT
    assert set(memory.micro[persistent]) == {ALL_MICRO_BATCHES}
    assert set(memory.micro[~persistent]) == {0, 1, 2}


def test_the_curves_of_steps_through_host_memory_reach_their_peaks_to_the_byte() -> None:
    """An output is free on its device when it is in the host's memory, before others have received it."""
    for seed in range(100):
        graph, costs, cluster, _, placement = drawn_batch(np.random.default_rng(seed))
        through_host = dataclasses.replace(cluster, contention=Contention.HOST)
        timeline = Simulator(graph, costs, through_host).timeline(placement)
        assert [int(curve.bytes.max()) for curve in timeline.memory] == timeline.peak_bytes.tolist(), seed
