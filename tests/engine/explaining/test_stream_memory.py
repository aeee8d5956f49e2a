"""The memory of a batch as a page tells it: what is in flight, the floor, and what holds the peak."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import Costs
from engine.explaining.holding import ByteClass
from engine.explaining.stream_memory import MOST_CHANGES, in_flight_on, memory_of_batch
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER, ComputationGraph
from engine.simulator import Simulator
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.simulator.cases import Op, cluster_of, graph_of

STASHED, WEIGHTS, LIMIT = 1000, 70, 10**6
STAGES = range(3)
PLACEMENT = np.array([0, 1, 2, 2, 1, 0, 0, 1, 2], np.int32)


def three_stages() -> tuple[ComputationGraph, Costs]:
    ops = [Op(f"f{i}", [f"f{i - 1}"] * (i > 0), 10.0, (STASHED,), persistent=WEIGHTS) for i in STAGES]
    ops += [Op(f"b{i}", [f"f{i}", *[f"b{i + 1}"] * (i < 2)], 20.0, (0,)) for i in reversed(STAGES)]
    ops += [Op(f"u{i}", (f"b{i}",), 0.0) for i in STAGES]
    graph, costs = graph_of(ops)
    phase = [FORWARD] * 3 + [BACKWARD] * 3 + [OPTIMIZER] * 3
    return dataclasses.replace(graph, phase=np.array(phase, np.uint8)), costs


def free_links() -> Cluster:
    return cluster_of(3, Contention.NONE, bandwidth_bytes_per_us=1e12, op_rest_us=0.0, link_rest_us=0.0)


def simulator_of(stream: Stream) -> Simulator:
    graph, costs = three_stages()
    return Simulator(graph, costs, free_links(), stream=stream)


def told(stream: Stream) -> dict[str, Any]:
    simulator = simulator_of(stream)
    names, classes = simulator.graph.op_names, np.full(9, ByteClass.WEIGHTS, np.uint8)
    found: dict[str, Any] = memory_of_batch(
        *simulator.batch_and_memory(PLACEMENT), np.full(3, LIMIT, np.int64), names, classes
    )
    return found


@pytest.mark.parametrize(("pipeline", "most"), [(Pipeline.GPIPE, [8, 8, 8]), (Pipeline.ONE_F_ONE_B, [3, 2, 1])])
def test_as_many_micro_batches_are_in_flight_as_the_pipeline_allows(pipeline: Pipeline, most: list[int]) -> None:
    batch = simulator_of(Stream(8, pipeline)).batch(PLACEMENT)
    counts = [in_flight_on(batch, device)[1] for device in STAGES]
    assert [int(count.max()) for count in counts] == most
    assert all(count.min() >= 0 and count[-1] == 0 for count in counts)


def test_the_peak_says_what_holds_it() -> None:
    found = told(Stream(8, Pipeline.GPIPE))
    assert found["floor_bytes"] == [WEIGHTS] * 3 and found["limit_bytes"] == [LIMIT] * 3
    first = found["peaks"][0]
    assert first["in_flight"] == 8
    largest, weights = first["holders"][:2]
    assert largest == {"op": "f0", "class": "activations", "bytes": 8 * STASHED, "micro_batches": 8}
    assert weights == {"op": "f0", "class": "weights", "bytes": WEIGHTS, "micro_batches": 0}
    assert sum(first["bytes_of_class"]) == 8 * STASHED + WEIGHTS == max(found["curves"][0]["value"])


def test_a_long_curve_is_told_by_the_most_in_each_of_its_parts() -> None:
    stream = Stream(1024, Pipeline.GPIPE)
    found, batch = told(stream), simulator_of(stream).batch(PLACEMENT)
    for device, curve in enumerate(found["curves"]):
        assert len(curve["time_us"]) == len(curve["value"]) <= MOST_CHANGES
        assert max(curve["value"]) == batch.peak_bytes[device]
        assert curve["time_us"][0] == 0.0
