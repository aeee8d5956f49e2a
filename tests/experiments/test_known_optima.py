"""The experiment on problems whose best step time is known: small runs, and its page from results by hand."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.policies.trained_policy import TrainedPolicy
from experiments import grid
from experiments.auto_check.cases import SHARED
from experiments.grid import KeptResults
from experiments.policies import known_optima
from experiments.policies.known_optima import (
    ANSWERS,
    AUTO,
    AUTO_WITH,
    GREEDY,
    LEFT_OUT,
    OPTIMUM,
    PUBLIC,
    WEIGHTS_ALONE,
    OptimaScope,
    key_of,
    optimum_us,
    public_problem,
    quick_us,
    run,
    small_problem,
)
from experiments.policies.shipped import FILE
from tests.experiments.small_experiments import children_in


def test_the_optimum_is_the_least_of_all_placements_and_no_answer_is_below_it() -> None:
    policy = TrainedPolicy.from_bytes(FILE.read_bytes(), FILE.name)
    for index in (2, 6, 9):
        problem = small_problem(index)
        devices, groups = problem.device_count, problem.group_count
        assert devices**groups < 600_000
        every = np.indices((devices,) * groups).reshape(groups, -1).T.astype(np.int32)
        times = problem.simulator.evaluate(np.ascontiguousarray(every)).step_time_us
        assert optimum_us(problem) == times.min() <= known_optima.WORTH * times[0]
        found = quick_us(policy, problem)
        assert all(us is None or us >= times.min() for us in found.values())
        assert found[known_optima.SWEPT] <= found[GREEDY]  # type: ignore[operator]  # both fit


def test_small_graphs_are_small_and_of_many_kinds() -> None:
    problems = [small_problem(index) for index in range(20)]
    assert max(problem.group_count for problem in problems) <= known_optima.MOST_GROUPS
    assert {problem.device_count for problem in problems} == {2, 3}
    assert len({problem.graph.op_count for problem in problems}) > 8


def test_the_page_has_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "run_in_child", children_in(tmp_path))
    monkeypatch.setattr(known_optima, "SHARED", tmp_path / "nowhere")
    reported: list[str] = []
    settings: dict[str, Any] = {"seconds": 0.02, "seeds": 2, "small": 2}
    text = run(tmp_path, reported.append, settings)
    assert "the public graphs are not here" in reported
    assert "## 2 small graphs, beside their optimum" in text
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in text.splitlines() if line.startswith("| ")}
    assert {"HEFT", "m-ETF", GREEDY, AUTO, AUTO_WITH} < set(rows)
    assert rows[AUTO].endswith(" of 4 |") and rows[GREEDY].endswith(" of 2 |")
    again: list[str] = []
    assert run(tmp_path, again.append, settings) == text
    assert again == ["the public graphs are not here"]


def test_public_graphs_stand_beside_their_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scope, digest = OptimaScope(small=1), hashlib.sha256(FILE.read_bytes()).hexdigest()
    row: dict[str, Any] = {answer: [2400.2] for answer in ANSWERS} | {LEFT_OUT: True, OPTIMUM: None}
    kept = KeptResults(tmp_path / "kept" / "known_optima.jsonl")
    for name in PUBLIC:
        kept.add(key_of(scope, name, digest), row | {"heft": [None], AUTO: [1200.1, 1320.11]})
    kept.add(key_of(scope, "small/0", digest), row | {OPTIMUM: 2000.0, AUTO: [2000.0, 2200.0]})
    monkeypatch.setattr(known_optima, "SHARED", tmp_path / "nowhere")
    text = run(tmp_path, lambda _: None, {"small": 1})
    assert "| HEFT | nothing that fits | nothing that fits | nothing that fits |" in text
    assert "| auto | 1,200.1 to 1,320.1 µs (+0.0%) |" in text
    assert "| policy left out by auto | yes | yes | yes |" in text
    assert "| auto | +5.0 %" in text and "| +10.0% | 1 of 2 |" in text


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the benchmark graphs are not at {SHARED}")
def test_only_weights_count_where_an_output_is_too_large() -> None:
    problem = public_problem(WEIGHTS_ALONE)
    placement = np.zeros((1, problem.group_count), dtype=np.int32)
    assert problem.missing_bytes(problem.simulator.evaluate(placement))[0] > 0, "one device cannot hold all weights"
    assert problem.costs.bytes_of_op().max() < 0.001 * problem.memory_bytes.min()
