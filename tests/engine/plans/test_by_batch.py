"""Readings of TensorFlow's graphs: the batch size says their samples, and names say which op belongs to which pass."""

import json
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.clusters.parsing import parse_cluster
from engine.errors import GraphError
from engine.formats.node_link.reader import read_nodelink
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.plans.by_batch import model_by_batch
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
