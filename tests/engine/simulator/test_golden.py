"""The published simulator's answers, to the last µs and byte, by the compiled simulator and by its slow twin."""

from pathlib import Path

import numpy as np
import pytest

from engine.simulator import Simulator
from tests.engine.simulator import golden, slow_memory
from tests.engine.simulator.slow_twin import SlowTwin


def test_there_are_golden_files() -> None:
    assert len(golden.FILES) >= 9


@pytest.mark.parametrize("path", golden.FILES, ids=lambda path: path.stem)
def test_the_simulator_gives_the_golden_answers(path: Path) -> None:
    graph, costs, cluster, cases = golden.load(path)
    simulator = Simulator(graph, costs, cluster)
    answer = simulator.evaluate(np.array([case["placement"] for case in cases], dtype=np.int32))
    assert np.abs(answer.step_time_us - [case["makespan_us"] for case in cases]).max() <= 1e-6
    assert answer.peak_bytes.tolist() == [case["peak_output_bytes"] for case in cases]


@pytest.mark.parametrize("path", golden.FILES, ids=lambda path: path.stem)
def test_the_slow_twin_gives_the_golden_answers(path: Path) -> None:
    graph, costs, cluster, cases = golden.load(path)
    twin = SlowTwin(graph, costs, cluster)
    for case in cases:
        step = twin.simulate(np.array(case["placement"]))
        assert step.now == pytest.approx(case["makespan_us"], abs=1e-6)
        assert np.abs(np.array(step.start) - case["start_us"]).max() <= 1e-6
        assert slow_memory.peaks(step) == case["peak_output_bytes"]
