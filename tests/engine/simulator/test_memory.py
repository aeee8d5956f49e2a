"""The memory model `full`: who holds what until when; and why the expert's NMT placement runs out of memory."""

import math

import numpy as np
import pytest

from engine.clusters.cluster import Contention, MemoryModel
from engine.simulator import Simulator, Timeline
from tests.engine.simulator.cases import Op, cluster_of, graph_of


def simulated(ops: list[Op], devices: list[int], memory_model: MemoryModel = MemoryModel.FULL) -> Timeline:
    graph, costs = graph_of(ops)
    cluster = cluster_of(2, memory_model=memory_model, link_rest_us=0.0, op_rest_us=0.0)
    return Simulator(graph, costs, cluster).timeline(np.array(devices, dtype=np.int32))


def curve(timeline: Timeline, device: int) -> list[tuple[float, int]]:
    memory = timeline.memory[device]
    return list(zip(memory.time_us.tolist(), memory.bytes.tolist(), strict=True))


def test_variables_are_held_from_begin_to_end() -> None:
    timeline = simulated([Op("a", time_us=5, persistent=70), Op("b", persistent=30)], [0, 1])
    assert [curve(timeline, device) for device in (0, 1)] == [[(0, 70)], [(0, 30)]]


def test_temporaries_are_held_while_the_op_runs() -> None:
    timeline = simulated([Op("a", time_us=5, temporary=70), Op("b", ["^a"], time_us=5, temporary=20)], [0, 0])
    assert curve(timeline, 0) == [(0, 70), (5, 20), (10, 0)]
    assert timeline.peak_bytes.tolist() == [70, 0], "what is given back is gone before something is taken"


def test_an_output_is_held_until_its_last_local_consumer_has_ended() -> None:
    ops = [
        Op("a", time_us=5, outputs=[100]),
        Op("b", ["a"], time_us=5),
        Op("c", ["a", "b"], time_us=5),
        Op("d", ["c"], 1),
    ]
    assert curve(simulated(ops, [0, 0, 0, 0]), 0) == [(0, 100), (15, 0)]


def test_an_output_that_nobody_takes_is_held_while_its_op_runs() -> None:
    assert curve(simulated([Op("a", time_us=5, outputs=[100, 20])], [0]), 0) == [(0, 120), (5, 0)]


def test_a_copy_is_held_from_arrival_until_its_last_consumer_there_has_ended() -> None:
    ops = [Op("a", time_us=5, outputs=[100]), Op("b", ["a"], time_us=5), Op("c", ["a", "b"], time_us=5)]
    timeline = simulated(ops, [0, 1, 1])
    assert curve(timeline, 1) == [(0, 0), (6, 100), (16, 0)]
    assert curve(timeline, 0) == [(0, 100), (6, 0)], "the producer's own copy goes when it has been sent"


def test_a_tensor_that_is_taken_twice_has_one_copy() -> None:
    ops = [Op("a", time_us=5, outputs=[100]), Op("b", ["a", "a"], time_us=5)]
    assert simulated(ops, [0, 1]).peak_bytes.tolist() == [100, 100]


def nmt(steps: int, layers: int) -> list[Op]:
    """Layers of cells, unrolled; the way back needs each cell's input again, the last first."""
    cells = [
        Op(
            f"layer{layer}/step{step}",
            [f"layer{layer - 1}/step{step}"] * (layer > 0) + [f"layer{layer}/step{step - 1}"] * (step > 0),
            time_us=100,
            outputs=[1000],
        )
        for layer in range(layers)
        for step in range(steps)
    ]
    back = [
        Op(
            f"gradient/layer{layer}/step{step}",
            [f"layer{layer}/step{step}"]
            + [f"layer{layer - 1}/step{step}"] * (layer > 0)
            + [f"gradient/layer{layer + 1}/step{step}"] * (layer < layers - 1)
            + [f"gradient/layer{layer}/step{step + 1}"] * (step < steps - 1),
            time_us=100,
            outputs=[10],
        )
        for layer in reversed(range(layers))
        for step in reversed(range(steps))
    ]
    return cells + back


def expert(ops: list[Op]) -> list[int]:
    """Each layer on its own device."""
    return [int(op.name.partition("layer")[2].partition("/")[0]) for op in ops]


@pytest.mark.parametrize("contention", list(Contention))
def test_the_experts_nmt_placement_runs_out_of_memory_by_the_copies(contention: Contention) -> None:
    """Layer 0's outputs are copied to layer 1's device and kept there for the way back, beside its own outputs."""
    steps = 8
    graph, costs = graph_of(nmt(steps, layers=2))
    placement = np.array(expert(nmt(steps, layers=2)), dtype=np.int32)
    peaks = {}
    for memory_model in MemoryModel:
        cluster = cluster_of(2, contention, memory_model, bandwidth_bytes_per_us=1e6, link_rest_us=0)
        timeline = Simulator(graph, costs, cluster).timeline(placement)
        peaks[memory_model] = timeline.peak_bytes[1]
    own, copies = steps * 1000, steps * 1000
    assert own + copies <= peaks[MemoryModel.FULL] <= own + copies + 20
    assert own <= peaks[MemoryModel.OUTPUTS] <= own + 20, "the published model sees no copies: it would fit"


def test_the_published_model_frees_an_output_a_microsecond_early_in_whole_microseconds() -> None:
    ops = [Op("a", time_us=1.9, outputs=[100]), Op("b", ["a"], time_us=3.2, outputs=[10])]
    timeline = simulated(ops, [0, 0], MemoryModel.OUTPUTS)
    assert timeline.start_us.tolist() == [0, 1.9]
    assert curve(timeline, 0) == [(0, 100), (1.9, 110), (after(1.9), 100), (after(3), 0)], "b ends at 5.1 µs"
    assert timeline.peak_bytes.tolist() == [110, 0]


def test_the_published_model_takes_an_output_at_its_start_which_it_does_not_truncate() -> None:
    ops = [
        Op("a", time_us=1.5, outputs=[100]),
        Op("b", ["a"], time_us=1, outputs=[10]),
        Op("c", ["b"], time_us=1.5, outputs=[1000]),
    ]
    timeline = simulated(ops, [0, 0, 0], MemoryModel.OUTPUTS)
    assert timeline.start_us.tolist() == [0, 1.5, 2.5]
    levels = [(0, 100), (after(1), 0), (1.5, 10), (after(2), 0), (2.5, 1000), (after(2.5), 0)]
    assert curve(timeline, 0) == levels, "in whole µs b's output would begin when a's ends, and c's when b's does"
    assert timeline.peak_bytes.tolist() == [1000, 0]


def after(moment_us: float) -> float:
    """The next number: what is freed at a moment is there at that moment."""
    return math.nextafter(moment_us, math.inf)
