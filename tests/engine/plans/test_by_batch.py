"""Readings of TensorFlow's graphs: the batch size says their samples, and names say which op belongs to which pass."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from engine.cli.main import main
from engine.clusters.device_kinds import CATALOGUE
from engine.clusters.parsing import parse_cluster
from engine.costs.costs import time_by_peaks_us
from engine.errors import GraphError
from engine.formats.node_link.reader import read_nodelink
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.plans.by_batch import ModelByBatch, model_by_batch
from engine.plans.plan import Plan, PlanRules, Replica
from engine.plans.simulated import PlanSimulator
from engine.prepared import PreparedGraph
from engine.simulator.streams.stream import Pipeline
from tests.engine.plans.layered_step import LAYERS, step

NAMES = {"f": "layer_{}", "b": "gradients/layer_{}", "u": "update_{}"}


def by_names(batch_size: int | None) -> PreparedGraph:
    """The step of layers whose names alone say the passes, as TensorFlow's do."""
    value = step(batch_size or 1)
    for node in value["nodes"]:
        del node["phase"]
        node["id"] = NAMES[node["id"][0]].format(node["id"][1:])
    for edge in value["edges"]:
        for end in ("source", "target"):
            edge[end] = NAMES[edge[end][0]].format(edge[end][1:])
    graph, costs = read_nodelink(json.dumps(value).encode())
    return PreparedGraph(graph, costs, group_ops(graph, costs, None), Origin(".pb", options={"batch_size": batch_size}))


def test_the_batch_size_of_a_reading_says_its_samples() -> None:
    assert model_by_batch([by_names(4), by_names(2)]).samples == (2, 4)
    with pytest.raises(GraphError, match="of how many samples it is a step"):
        model_by_batch([by_names(None)])


def test_replicas_add_up_the_gradients_that_names_tell() -> None:
    model = model_by_batch([by_names(1), by_names(2)])
    phases = dict(zip(model.prepared.graph.op_names, model.prepared.graph.phase.tolist(), strict=True))
    assert {phases[f"layer_{layer}"] for layer in range(LAYERS)} == {FORWARD}
    assert {phases[f"gradients/layer_{layer}"] for layer in range(LAYERS)} == {BACKWARD}
    assert {phases[f"update_{layer}"] for layer in range(LAYERS)} == {OPTIMIZER}
    simulator = PlanSimulator(model, parse_cluster("2xV100"), PlanRules(Pipeline.ONE_F_ONE_B))
    alone = model.prepared.grouping.group_of_op * 0
    found = simulator.simulate(Plan(tuple(Replica((device,), alone, 2, 3) for device in range(2))))
    assert sum(each.bucket.total_bytes for each in found.reduced) == LAYERS * 4000


@pytest.mark.slow
def test_files_of_one_batch_each_are_read_as_they_are_said_to_be(tmp_path: Path) -> None:
    model, out = tmp_path / "model.pb", tmp_path / "plan.json"
    assert main(["build", "tiny_cnn", "--set", "batch=8", "--out", str(model)]) == 0
    command = ["plan", str(model), "--batch-size", "8", "--second-batch-size", "8", "--cluster", "2xV100"]
    assert main([*command, "--batch", "64", "--seconds", "1"]) == 2
    other = tmp_path / "other.pb"
    assert main(["build", "tiny_cnn", "--set", "batch=16", "--out", str(other)]) == 0
    command[4:4] = ["--second", str(other)]
    command[command.index("--second-batch-size") + 1] = "16"
    assert main([*command, "--batch", "64", "--seconds", "2", "--report", str(out)]) == 0
    report = json.loads(out.read_text())
    assert report["read_at"] == [8, 16] and report["usual"]["data_parallel"]["reduced"]


@pytest.mark.parametrize("kind", ["V100", "A100", "K80", "CPU", "RTX4090"])
def test_times_that_follow_from_work_are_on_the_line_through_both_readings(kind: str) -> None:
    """Those of kinds with a row of their own too, which stand for the ops' work where they are those of the peaks."""
    flops, moved = np.array([3e9 + 1, 5e7 + 3]), np.array([10**6 + 7, 3 * 10**7 + 1])

    def reading(batch: int) -> PreparedGraph:
        one = by_names(batch)
        ops = one.graph.op_count
        work = np.resize(flops, ops).astype(np.int64) * batch
        bytes_ = np.resize(moved, ops) * batch
        kinds = ("K80", "V100", "A100", "CPU")
        made = dataclasses.replace(one.costs, flops=work, moved_bytes=bytes_, float_type=np.zeros(ops, np.uint8))
        rows = [time_by_peaks_us(work, bytes_, made.float_type, CATALOGUE[each]) for each in kinds]
        return dataclasses.replace(one, costs=dataclasses.replace(made, kinds=kinds, time_us=np.array(rows)))

    model = ModelByBatch((reading(2), reading(4)), (2, 4))
    devices = parse_cluster(kind).devices
    two, three, four = (model.costs(samples).time_on_devices(devices) for samples in (2, 3, 4))
    assert three == pytest.approx((two + four) / 2, rel=1e-6)


def test_a_reading_with_times_beside_one_without_is_refused() -> None:
    small, large = by_names(2), by_names(4)
    times = np.full((2, small.graph.op_count), 3.0)
    measured = dataclasses.replace(small, costs=dataclasses.replace(small.costs, measured_us=times))
    with pytest.raises(GraphError, match="one reading has times that the other has not"):
        model_by_batch([measured, large])
