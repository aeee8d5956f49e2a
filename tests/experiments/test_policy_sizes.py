"""The experiment on sizes: its problems, a small run, and its page from results by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import grid
from experiments.policies import sizes
from experiments.policies.sizes import (
    ALONE,
    LEFT_OUT,
    PASS_SECONDS,
    TRANSFORMER,
    WITH_POLICY,
    cases,
    make_sizes_scope,
    page,
    problem_of,
    run,
)
from tests.experiments.small_experiments import children_in

SMALL: dict[str, Any] = {"groups": "24,40", "clusters": "2xV100", "corners": "2xV100", "seconds": 0.03, "seeds": 1}
SMALL |= {"short_seconds": 0.02, "long_seconds": 0.04}


@pytest.mark.parametrize("groups", [24, 128, 256, 512])
def test_a_drawn_transformer_has_about_so_many_groups(groups: int) -> None:
    problem = problem_of(TRANSFORMER, groups, "4xV100")
    assert abs(problem.group_count - groups) <= 0.1 * groups
    alone = problem.simulator.evaluate(np.zeros((1, problem.group_count), np.int32))
    assert problem.missing_bytes(alone)[0] == 0, "on one device alone"


def test_the_corners_have_more_budgets() -> None:
    scope = make_sizes_scope({})
    found = list(cases(scope))
    assert len(found) == len(set(found)) == 2 * 4 * 6 + 2 * 2 * 2 * 2
    assert {case.seconds for case in found if case.groups == 256} == {10.0}
    assert {case.seconds for case in found if (case.groups, case.cluster) == (1024, "64xV100")} == {1.0, 10.0, 60.0}


def test_a_second_call_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "run_in_child", children_in(tmp_path))
    monkeypatch.setattr(sizes, "GRAPHS", (TRANSFORMER,))
    reported: list[str] = []
    text = run(tmp_path, reported.append, SMALL)
    assert len(reported) == 6 and "## Corners" in text
    assert run(tmp_path, reported.append, SMALL) == text and len(reported) == 6


def test_gains_are_reported_as_such_only_beyond_the_scatter() -> None:
    scope = make_sizes_scope(SMALL)
    row = {ALONE: [100.0, 110.0], WITH_POLICY: [90.0, 99.0], PASS_SECONDS: 0.054, LEFT_OUT: False}
    found = {case: dict(row) for case in cases(scope)}
    scattered = {ALONE: [100.0, 110.0], WITH_POLICY: [90.0, 105.0], LEFT_OUT: True}
    nothing = {WITH_POLICY: [None, None]}
    for case in found:
        found[case] |= scattered if case.groups == 40 else nothing if case.graph == TRANSFORMER else {}
    text = page(found, scope, "made", "digest")
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in text.splitlines()}
    assert "| **-10.0%** (0.05) |" in lines["zoo/nmt_4_layers, 24"]
    assert "| -7.1%* (0.05) |" in lines["zoo/nmt_4_layers, 40"]
    assert "| nothing that fits |" in lines[f"{TRANSFORMER}, 24"]
    assert lines["zoo/nmt_4_layers, 24, 2xV100"].count("-10.0%") == 4
