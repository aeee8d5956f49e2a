"""The simulator beside its slow twin: a row for each memory model and unit of a graph."""

import pytest

from experiments.bench import simulator
from experiments.bench.simulator import training_step
from tests.engine.simulator.yardstick import evaluations


def test_each_memory_model_and_unit_has_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "SECONDS_A_FIGURE", 0.0)
    step = training_step(120)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in evaluations([step]).splitlines()[2:]]
    groups = f"{step.group_of_op.max() + 1} groups"
    assert [row[:3] for row in rows] == [
        [step.name, model, placed] for model in ("full", "outputs") for placed in (groups, "ops")
    ]
    assert all(float(time) >= 0 for row in rows for time in row[3:])
