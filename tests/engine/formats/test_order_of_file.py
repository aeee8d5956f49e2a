"""From a file to its groups nothing depends on the order in which the file has its nodes."""

from pathlib import Path

import numpy as np
import pytest

from engine.child.parent import Limits, no_progress, run_in_child
from engine.events import Json
from engine.formats.reading import prepare
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.tensorflow.wire import fields
from engine.prepared import PreparedGraph

OPS = 1500


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[PreparedGraph, PreparedGraph]:
    """A training step as it is built, and with its nodes shuffled in the file."""
    folder = tmp_path_factory.mktemp("order")
    path, shuffled = folder / "graph.pb", folder / "shuffled.pb"
    order: dict[str, Json] = {"ops": OPS, "path": str(path)}
    run_in_child(
        "experiments.bench.large_graphs:build_training_graph_in_child", order, Limits(), task="building", is_warm=True
    )
    content = path.read_bytes()
    nodes = [content[field.start : field.end] for field in fields(content)]
    np.random.default_rng(0).shuffle(nodes)
    shuffled.write_bytes(b"".join(nodes))
    return _prepared(path), _prepared(shuffled)


def _prepared(path: Path) -> PreparedGraph:
    return prepare(path, ".pb", no_progress, Limits(), groups=None)


def group_of_name(prepared: PreparedGraph, groups: int | None, threshold_bytes: int | None) -> dict[str, str]:
    """Op → its group."""
    grouping = group_ops(prepared.graph, prepared.costs, groups, threshold_bytes)
    of_op = grouping.group_of_op.tolist()
    return {name: grouping.names[group] for name, group in zip(prepared.graph.op_names, of_op, strict=True)}


def test_the_costs_of_an_op_are_the_same(prepared: tuple[PreparedGraph, PreparedGraph]) -> None:
    one, other = prepared
    assert one.graph.op_names != other.graph.op_names
    index_of_name = {name: op for op, name in enumerate(other.graph.op_names)}
    moved = [index_of_name[name] for name in one.graph.op_names]
    assert np.array_equal(one.costs.time_us, other.costs.time_us[:, moved])
    assert one.costs.bytes_of_op().tolist() == other.costs.bytes_of_op()[moved].tolist()
    assert one.costs.persistent_bytes.tolist() == other.costs.persistent_bytes[moved].tolist()


@pytest.mark.parametrize(
    ("groups", "threshold_bytes"), [(128, None), (16, None), (1, None), (16, 40_000), (None, None)], ids=str
)
def test_the_groups_are_the_same(
    prepared: tuple[PreparedGraph, PreparedGraph], groups: int | None, threshold_bytes: int | None
) -> None:
    one, other = (group_of_name(each, groups, threshold_bytes) for each in prepared)
    assert one == other
    found = len(set(one.values()))
    if threshold_bytes is not None:
        assert found > 16
    elif groups is not None:
        assert found <= groups


def test_without_merging_each_class_is_a_group(prepared: tuple[PreparedGraph, PreparedGraph]) -> None:
    """Of a layer's 19 ops two variables hold three more each (slot, read, update), and a gradient its Identity."""
    layers, blocks = 79, 20
    alone = ("rate", "momentum", "count", "images", "output", "gradients/output_grad/truediv", "train_step")
    assert [each.grouping.group_count for each in prepared] == [12 * layers + blocks - 1 + len(alone)] * 2
    assert prepared[0].graph.op_count == 19 * layers + blocks - 1 + len(alone)
