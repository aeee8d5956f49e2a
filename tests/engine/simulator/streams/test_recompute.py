"""Stages that run again before their backward pass: by closed form, and as the slow twin has them."""

import dataclasses

import numpy as np
import pytest

from engine.clusters.cluster import Contention
from engine.costs.costs import OWN_BUFFER, Costs
from engine.errors import SettingsError
from engine.graphs.graph import BACKWARD, FORWARD, ComputationGraph
from engine.simulator import Simulator
from engine.simulator.streams.passes import require_stream
from engine.simulator.streams.stream import Pipeline, Recompute, Stream
from tests.engine.simulator.cases import Op, cluster_of, graph_of, make_graph
from tests.engine.simulator.slow_loads import slow_period_us
from tests.engine.simulator.streams.drawn_batches import drawn_batch
from tests.engine.simulator.streams.slow_recompute import runs_again, slowly_recomputed
from tests.engine.simulator.streams.slow_stream import slow_twin_of

DRAWN = 500
GIVEN, INNER, WEIGHTS = 100, 1000, 7
FORWARD_US, BACKWARD_US = 10.0, 25.0
PIPELINES = [Pipeline.GPIPE, Pipeline.ONE_F_ONE_B]


def layers(stages: int) -> tuple[ComputationGraph, Costs]:
    """Stages in a row: two ops forward, of which the backward pass needs the first one's output, and one back."""
    ops = [Op("x", (), 0.0, (GIVEN,))]
    for i in range(stages):
        ops.append(Op(f"inner{i}", (f"given{i - 1}" if i else "x",), FORWARD_US, (INNER,), WEIGHTS))
        ops.append(Op(f"given{i}", (f"inner{i}",), 0.0, (GIVEN,)))
    for i in reversed(range(stages)):
        needs = [f"inner{i}", f"b{i + 1}" if i + 1 < stages else f"given{i}"]
        ops.append(Op(f"b{i}", needs, BACKWARD_US, (0,)))
    graph, costs = graph_of(ops)
    phase = [FORWARD] * (1 + 2 * stages) + [BACKWARD] * stages
    return dataclasses.replace(graph, phase=np.array(phase, np.uint8)), costs


def simulator_of(stages: int, stream: Stream) -> Simulator:
    links = cluster_of(stages, Contention.NONE, bandwidth_bytes_per_us=1e12, op_rest_us=0.0, link_rest_us=0.0)
    return Simulator(*layers(stages), links, stream=stream)


def one_stage_each(stages: int) -> np.ndarray:
    return np.array([0, *np.repeat(np.arange(stages), 2), *reversed(range(stages))], np.int32)


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize(("stages", "micro_batches"), [(1, 3), (2, 2), (4, 4), (4, 9)])
def test_a_stage_takes_its_forward_pass_twice(pipeline: Pipeline, stages: int, micro_batches: int) -> None:
    """(M + S − 1) f + M (f + b) + (S − 1) b: only in the drain a stage runs again while it waits for the gradients."""
    simulator = simulator_of(stages, Stream(micro_batches, pipeline, recompute=Recompute.STAGES))
    placement = one_stage_each(stages)
    filled_us = (micro_batches + stages - 1) * FORWARD_US
    expected_us = filled_us + micro_batches * (FORWARD_US + BACKWARD_US) + (stages - 1) * BACKWARD_US
    assert simulator.batch(placement).batch_time_us == pytest.approx(expected_us)
    assert simulator.evaluate(placement[None]).step_time_us[0] == 2 * FORWARD_US + BACKWARD_US


@pytest.mark.parametrize("micro_batches", [2, 8])
def test_only_what_a_stage_was_given_is_held_for_each_micro_batch(micro_batches: int) -> None:
    """GPipe holds all micro-batches: of each what the stage was given, and of one what its ops make."""
    held = {
        recompute: simulator_of(3, Stream(micro_batches, Pipeline.GPIPE, recompute=recompute))
        .batch(one_stage_each(3))
        .peak_bytes[1]
        for recompute in Recompute
    }
    assert held[Recompute.STAGES] == WEIGHTS + micro_batches * GIVEN + INNER + GIVEN
    assert held[Recompute.NONE] >= WEIGHTS + micro_batches * INNER


def test_batches_are_the_slow_twins() -> None:
    """Of graphs in which plain Python has found and copied what runs again: times, peaks, periods; over all links."""
    ran_again = 0
    for seed in range(DRAWN):
        graph, costs, cluster, drawn, placement = drawn_batch(np.random.default_rng(seed))
        pipeline = Pipeline.GPIPE if drawn.pipeline is Pipeline.INFERENCE else drawn.pipeline
        stream = dataclasses.replace(drawn, pipeline=pipeline, recompute=Recompute.STAGES)
        simulator = Simulator(graph, costs, cluster, stream=stream)
        batch = simulator.batch(placement)
        slow_graph, slow_costs, device_of_op = slowly_recomputed(graph, costs, placement.tolist(), costs.kinds)
        assert batch.graph.op_names == slow_graph.op_names
        assert batch.device_of_op.tolist() == device_of_op
        twin = slow_twin_of(batch, slow_graph, slow_costs, cluster)
        assert batch.batch_time_us == pytest.approx(twin.batch_us, rel=1e-9), seed
        assert batch.peak_bytes.tolist() == twin.peaks(), seed
        period_us = simulator.evaluate(placement[None]).step_time_us[0]
        slow_us = slow_period_us(slow_graph, slow_costs, cluster, slow_graph.phase.tolist(), device_of_op)
        assert period_us == pytest.approx(slow_us, rel=1e-9), seed
        ran_again += bool(runs_again(graph, placement.tolist()))
    assert ran_again > DRAWN / 4


def test_what_passes_a_buffer_on_does_so_again() -> None:
    """A view of what a stage computed costs nothing the second time either."""
    graph, costs = layers(2)
    buffers = np.full(len(costs.output_bytes), OWN_BUFFER)
    given = graph.op_names.index("given1")
    buffers[costs.output_offset[given]] = costs.output_offset[graph.op_names.index("inner1")]
    with_views = dataclasses.replace(costs, buffer_of_output=buffers)
    stream = Stream(4, Pipeline.GPIPE, recompute=Recompute.STAGES)
    cluster = cluster_of(2, Contention.NONE, bandwidth_bytes_per_us=1e12, op_rest_us=0.0, link_rest_us=0.0)
    batch = Simulator(graph, with_views, cluster, stream=stream).batch(one_stage_each(2))
    assert batch.peak_bytes[1] == WEIGHTS + 4 * GIVEN + INNER


def test_inference_and_loops_run_nothing_again() -> None:
    with pytest.raises(SettingsError, match="inference has no backward pass"):
        Stream(2, Pipeline.INFERENCE, recompute=Recompute.STAGES)
    looped = dataclasses.replace(
        make_graph(("merge", "next", "back"), [(0, 1, 0), (1, 2, 0)], back_edges=[(1, 0)]),
        phase=np.array([FORWARD, FORWARD, BACKWARD], np.uint8),
    )
    with pytest.raises(SettingsError, match="the loop at merge cannot run again"):
        require_stream(looped, Stream(2, Pipeline.GPIPE, recompute=Recompute.STAGES))


def test_a_stream_that_recomputes_says_so_in_its_json() -> None:
    stream = Stream(2, Pipeline.GPIPE, recompute=Recompute.STAGES)
    assert Stream.from_json(stream.to_json()) == stream
    assert "recompute" not in Stream(2, Pipeline.GPIPE).to_json()
    with pytest.raises(SettingsError, match="allowed: none, stages"):
        Stream.from_json({**stream.to_json(), "recompute": "all"})
