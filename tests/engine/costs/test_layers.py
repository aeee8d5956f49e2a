"""FLOPs, parameters and bytes by layer: a name scope at the level where the work branches out."""

from typing import Any

import numpy as np

from engine.costs.costs import Costs
from engine.costs.layers import MOST_LAYERS, HeldParameters, layers_of
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import group_ops
from engine.prepared import PreparedGraph


def made(*lines: str) -> tuple[ComputationGraph, Costs, HeldParameters]:
    """A graph of ops `name type flops parameters constants inputs`; an op's output has 4 bytes, a parameter 4."""
    rows = [line.split() for line in lines]
    names = [row[0] for row in rows]
    edges = [(names.index(source), target) for target, row in enumerate(rows) for source in row[5:]]
    numbers = np.array([[int(each) for each in row[2:5]] for row in rows], dtype=np.int64)
    pairs = np.array(edges, dtype=np.int32).reshape(-1, 2)
    count = len(rows)
    graph = ComputationGraph(
        name="layers",
        op_names=tuple(names),
        op_types=tuple(row[1] for row in rows),
        edge_source=np.ascontiguousarray(pairs[:, 0]),
        edge_target=np.ascontiguousarray(pairs[:, 1]),
        edge_output=np.zeros(len(edges), dtype=np.int32),
        devices=("",) * count,
        colocation=((),) * count,
        back_edges=np.empty((0, 2), dtype=np.int32),
    )
    costs = Costs(
        kinds=("*",),
        time_us=np.ones((1, count)),
        output_offset=np.arange(count + 1, dtype=np.int64),
        output_bytes=np.full(count, 4, dtype=np.int64),
        persistent_bytes=4 * numbers[:, 1],
        temporary_bytes=np.zeros(count, dtype=np.int64),
        source=np.full(count, 2, dtype=np.uint8),
        flops=numbers[:, 0].copy(),
    )
    return graph, costs, HeldParameters(numbers[:, 1], numbers[:, 2])


def rows_of(*lines: str) -> list[tuple[Any, ...]]:
    """Label, ops, FLOPs, parameters of each layer."""
    layers = layers_of(*made(*lines))
    return [(layer["label"], layer["ops"], layer["flops"], layer["parameters"]) for layer in layers]


MODEL = (
    "x Placeholder 0 0 0",
    "call/model/conv/kernel/Read ReadVariableOp 0 0 0 conv/kernel",
    "call/model/conv/Conv2D Conv2D 600 0 0 x call/model/conv/kernel/Read",
    "call/model/conv/Bias BiasAdd 10 0 0 call/model/conv/Conv2D",
    "call/model/dense/Tensordot/Read ReadVariableOp 0 0 0 dense/kernel",
    "call/model/dense/Tensordot/MatMul MatMul 300 0 0 call/model/conv/Bias call/model/dense/Tensordot/Read",
    "call/model/relu Relu 90 0 0 call/model/dense/Tensordot/MatMul",
    "Identity Identity 0 0 0 call/model/relu",
)
VARIABLES = ("conv/kernel VarHandleOp 0 27 0", "dense/kernel VarHandleOp 0 50 0")


def test_scopes_around_all_layers_are_opened_and_variables_count_to_their_readers() -> None:
    assert rows_of(*VARIABLES, *MODEL) == [
        ("conv", 4, 610.0, 27),
        ("dense", 3, 300.0, 50),
        ("relu", 1, 90.0, 0),
        ("other ops", 2, 0.0, 0),
    ]


def test_a_name_is_whole_and_its_label_is_short() -> None:
    layers = layers_of(*made(*VARIABLES, *MODEL))
    assert [layer["name"] for layer in layers] == ["call/model/conv", "call/model/dense", "call/model/relu", ""]


def test_a_variable_in_the_scope_of_its_layer_stays_there() -> None:
    lines = (
        "x Placeholder 0 0 0",
        "a/w VariableV2 0 4 0",
        "a/w/read Identity 0 0 0 a/w",
        "a/MatMul MatMul 7 0 0 x a/w/read",
        "shared VariableV2 0 5 0",
        "shared/read Identity 0 0 0 shared",
        "b/MatMul MatMul 8 0 0 a/MatMul shared/read",
        "c/MatMul MatMul 9 0 0 b/MatMul shared/read",
    )
    held = {label: (flops, parameters) for label, _, flops, parameters in rows_of(*lines)}
    assert held["a"] == (7.0, 4)
    assert held["b"] == (8.0, 5), "its first reader"
    assert held["c"] == (9.0, 0)


def test_an_optimiser_s_own_variables_are_no_parameters() -> None:
    lines = (
        "x Placeholder 0 0 0",
        "a/w VariableV2 0 4 0",
        "a/MatMul MatMul 7 0 0 x a/w",
        "a/w/slot VariableV2 0 4 0",
        "rate VariableV2 0 1 0",
        "rate/read Identity 0 0 0 rate",
        "update ApplyMomentum 3 0 0 a/w a/w/slot rate/read a/MatMul",
    )
    layers = layers_of(*made(*lines))
    assert sum(int(str(layer["parameters"])) for layer in layers) == 4
    assert sum(int(str(layer["persistent_bytes"])) for layer in layers) == 4 * 9


def test_constants_of_a_frozen_graph_are_counted_beside_variables() -> None:
    layers = layers_of(
        *made("x Placeholder 0 0 0", "a/w Const 0 0 12", "a/MatMul MatMul 5 0 0 x a/w", "b/n Neg 1 0 0 x")
    )
    assert [(layer["label"], layer["parameters"], layer["constants"]) for layer in layers if layer["flops"]] == [
        ("a", 0, 12),
        ("b", 0, 0),
    ]


def test_whatever_the_names_are_the_sums_are_the_graph_s() -> None:
    rng = np.random.default_rng(0)
    lines: list[str] = []
    for op in range(700):
        scopes = "/".join(str(rng.integers(3)) for _ in range(rng.integers(1, 40)))
        sources = [lines[int(source)].split()[0] for source in rng.integers(0, op, 2)] if op else []
        kind = str(rng.choice(["MatMul", "ReadVariableOp", "VarHandleOp", "Const", "Assign"]))
        numbers = (
            f"{rng.integers(100)} {rng.integers(9) * (kind == 'VarHandleOp')} {rng.integers(9) * (kind == 'Const')}"
        )
        lines.append(" ".join([f"{scopes}/n{op}" if op % 5 else f"n{op}", kind, numbers, *dict.fromkeys(sources)]))
    graph, costs, held = made(*lines)
    layers: Any = layers_of(graph, costs, held)
    assert 2 <= len(layers) <= MOST_LAYERS
    sums = {key: sum(layer[key] for layer in layers) for key in ("ops", "flops", "parameters", "constants")}
    assert sums == {
        "ops": graph.op_count,
        "flops": costs.flops.sum(),
        "parameters": held.variables.sum(),
        "constants": held.constants.sum(),
    }
    assert sum(layer["persistent_bytes"] for layer in layers) == costs.persistent_bytes.sum()
    assert sum(layer["output_bytes"] for layer in layers) == costs.output_bytes.sum()
    assert len({layer["name"] for layer in layers}) == len(layers)


def test_without_flops_and_tensors_the_numbers_are_unknown() -> None:
    graph, costs, _ = made("a/x Neg 0 0 0", "a/y Neg 0 0 0 a/x", "b/z Neg 0 0 0 a/y")
    uncounted = Costs(
        costs.kinds,
        costs.time_us,
        costs.output_offset,
        costs.output_bytes,
        costs.persistent_bytes,
        costs.temporary_bytes,
        costs.source,
    )
    layers = layers_of(graph, uncounted, None)
    assert [(layer["label"], layer["ops"]) for layer in layers] == [("a", 2), ("b", 1)]
    assert {layer["flops"] for layer in layers} == {layer["parameters"] for layer in layers} == {None}


def test_a_graph_prepared_before_there_were_layers_has_none() -> None:
    graph, costs, _ = made("a Neg 0 0 0")
    assert PreparedGraph(graph, costs, group_ops(graph, costs, None)).summary()["layers"] is None
