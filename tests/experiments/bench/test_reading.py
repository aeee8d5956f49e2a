"""The benchmark from file to groups goes through all its steps, on graphs that are what they claim to be."""

from pathlib import Path

import pytest

from engine.child.parent import Limits, run_in_child
from engine.events import Json
from experiments.bench import reading as reading_speed
from tests.engine.formats.reading import read_graph

STEPS = ["checking", "reading", "costing", "grouping", "packing", "summary", "layout", "**all**"]


def test_each_step_has_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_speed, "TRAINING_OPS", (200,))
    monkeypatch.setattr(reading_speed, "CONSTANT_BYTES", ())
    table, _, foot = reading_speed.run_benchmark().partition("\n\n")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    assert [row[2] for row in rows] == STEPS
    assert {row[0] for row in rows} == {"training step, 218 ops"}
    assert float(rows[-1][3]) == pytest.approx(sum(float(row[3]) for row in rows[:-1]), abs=0.05)
    assert foot.startswith("Peak of the process itself")


@pytest.mark.parametrize("ops", [1, 1000, 20_000])
def test_a_training_step_has_as_many_ops_as_asked_for(ops: int, tmp_path: Path) -> None:
    path = tmp_path / "graph.pb"
    function = "experiments.bench.large_graphs:build_training_graph_in_child"
    run_in_child(function, {"ops": ops, "path": str(path)}, Limits(), task="building", is_warm=True)
    graph = read_graph(path, ".pb", Limits())
    assert max(ops, 70) <= graph.op_count <= 1.02 * ops + 100
    assert {"MatMul", "ReluGrad", "ResourceApplyMomentum", "AddN"} <= set(graph.op_types)
    assert len(graph.back_edges) == 0
    assert len(graph.must_colocate) > 0


def test_a_file_of_constants_is_as_large_as_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "graph.pb"
    order: dict[str, Json] = {"constant_bytes": 16_384, "file_bytes": 1_000_000, "path": str(path)}
    function = "experiments.bench.large_graphs:build_constants_in_child"
    run_in_child(function, order, Limits(), task="building", is_warm=True)
    assert 930_000 < path.stat().st_size < 1_000_000
    assert read_graph(path, ".pb", Limits()).op_types.count("Const") == 1_000_000 // (16_384 + 1024)
