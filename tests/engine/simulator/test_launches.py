"""After an op a device rests once for each kernel that it launches: closed forms, and recorded optimizers."""

import dataclasses
import json

import numpy as np
import placeto
import pytest
import torch

from engine.clusters.parsing import parse_cluster
from engine.formats.node_link.reader import parsed
from engine.formats.node_link.writer import write_nodelink
from engine.graphs.graph import PHASES
from engine.simulator import Simulator
from engine.simulator.bound import lower_bound_us
from tests.client import models
from tests.engine.simulator.cases import Op, cluster_of, graph_of

REST_US = 3.0


def test_a_device_rests_once_a_kernel_and_trip() -> None:
    ops = [
        Op("one", time_us=10),
        Op("none", ["one"], time_us=10, launches=0),
        Op("three", ["none"], time_us=10, launches=3),
        Op("looped", ["three"], time_us=10, launches=2, trips=4),
        Op("last", ["looped"], time_us=10),
    ]
    graph, costs = graph_of(ops)
    cluster = cluster_of(1, op_rest_us=REST_US)
    timeline = Simulator(graph, costs, cluster).timeline(np.zeros(5, dtype=np.int32))
    assert timeline.start_us.tolist() == [0, 13, 23, 42, 106]
    assert timeline.step_time_us == 119, "the rest after the last op counts"
    assert timeline.rest_us.tolist() == [REST_US * (1 + 0 + 3 + 8 + 1)]
    assert lower_bound_us(graph, costs, cluster) == pytest.approx(119)


def test_on_two_devices_each_rests_after_its_own() -> None:
    graph, costs = graph_of([Op(f"op{index}", time_us=10, launches=index % 2 * 5) for index in range(6)])
    cluster = cluster_of(2, op_rest_us=REST_US)
    timeline = Simulator(graph, costs, cluster).timeline(np.array([0, 1, 0, 1, 0, 1], dtype=np.int32))
    assert timeline.start_us.tolist() == [0, 0, 10, 25, 20, 50]
    assert timeline.step_time_us == 75


@pytest.mark.parametrize(
    ("optimizer", "launches"),
    [
        (torch.optim.AdamW, 0),
        (lambda parameters: torch.optim.SGD(parameters, momentum=0.9), 0),
        (lambda parameters: torch.optim.AdamW(parameters, foreach=False), 1),
        (lambda parameters: torch.optim.AdamW(parameters, foreach=False, fused=True), 0),
        (torch.optim.Adafactor, 1),
        (lambda parameters: torch.optim.Adafactor(parameters, foreach=True), 0),
    ],
)  # fmt: skip
def test_an_optimizer_that_updates_many_parameters_at_a_time_launches_nothing_for_each(
    optimizer: object, launches: int
) -> None:
    recording = placeto.record(models.Residuals(64, 4), torch.zeros(8, 64), loss=models.total, optimizer=optimizer)
    found = parsed(json.dumps(recording.to_json()).encode())
    late = found.graph.phase == PHASES.index("optimizer")
    counted = found.costs.launches if len(found.costs.launches) else np.ones(found.graph.op_count)
    assert np.all(counted[late & (found.costs.moved_bytes > 0)] == launches)
    assert np.all(counted[~late] == 1)
    each = Simulator(found.graph, found.costs, parse_cluster("A100")).timeline(
        np.zeros(found.graph.op_count, dtype=np.int32)
    )
    rests = np.count_nonzero(np.nan_to_num(found.costs.time_on(["A100"])[0]) * counted)
    assert each.rest_us[0] == pytest.approx(5.5 * rests)


def test_launches_are_written_and_read() -> None:
    graph, costs = graph_of([Op("a", time_us=1, launches=0), Op("b", ["a"], time_us=1, launches=7)])
    again = parsed(write_nodelink(graph, costs))
    assert again.costs.launches.tolist() == [0, 7]
    plain = dataclasses.replace(costs, launches=np.ones(2, dtype=np.int64))
    assert b"launches" not in write_nodelink(graph, plain)
