"""The benchmark of training: every run has its row, and the shares of time add up."""

import time

import pytest

from engine.experiments import training_speed
from engine.experiments.training_speed import Measured, Shares
from tests.engine.placeto.problems import random_problem


def test_a_part_inside_another_counts_once() -> None:
    shares = Shares()
    inner = shares.timed("simulator", lambda: time.sleep(0.02))

    def outer() -> None:
        inner()
        inner()

    began = time.perf_counter()
    shares.timed("network", outer)()
    took = time.perf_counter() - began
    assert shares.seconds["simulator"] >= 0.04
    assert shares.seconds["simulator"] + shares.seconds["network"] == pytest.approx(took, abs=0.01)
    assert shares.seconds["network"] < 0.01


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_a_run_has_its_row(preset: str) -> None:
    row = training_speed._row(random_problem(1), Measured(preset, "intermediate", "random", 60)).split()
    assert row[:3] == [preset, "intermediate", "random"] and int(row[3]) >= 1
    network, simulator, glue = (float(cell.rstrip("%")) for cell in row[7:10])
    assert network > 0 and network + simulator + glue == pytest.approx(100.0, abs=2.0)


def test_a_pass_has_its_row() -> None:
    assert training_speed._pass_row(random_problem(1, groups=7)).startswith("    7 groups: 0.0")
