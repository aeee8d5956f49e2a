"""The page of list schedules on a small graph: its variants, kept results, and the best of some readings."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from engine.placers.registry import make_placer
from engine.problem.trivial import one_device_placements
from experiments import list_schedules
from experiments.keeping.yardstick import FoundBy, Yardstick
from experiments.list_schedules import ScheduledGraph, best_of, shares
from experiments.problems import problem_on
from tests.engine.small_runs import prepared_graph


def test_the_best_reading_is_what_the_method_finds() -> None:
    prepared = prepared_graph(10)
    found = shares(prepared, "2xK80")
    for method in ("heft", "m_etf", "m_sct"):
        problem = problem_on(prepared, "2xK80", 100)
        make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
        one = problem_on(prepared, "2xK80", 100)
        make_placer("single_device", {}).place(one, np.random.default_rng(0), lambda: False)
        share = problem.ledger.best_time_us / one.ledger.best_time_us
        assert best_of(found, method, ("ops", "groups", "phases")) == pytest.approx(share)
    assert {"scotch, 1", "scotch, 3", "scotch, unmerged", "heft, unmerged"} <= found.keys()


def test_a_second_call_schedules_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ScheduledGraph("zoo", "small", "2xK80", partial(prepared_graph, 8))
    monkeypatch.setattr(list_schedules, "scheduled_graphs", lambda _: iter([graph]))
    readings = ("ops", "groups", "phases", "unmerged")
    found = {f"{method}, {reading}": 0.9 for method in ("heft", "m_etf", "m_sct") for reading in readings}
    scotch = {f"scotch, {variant}": 0.8 for variant in ("1", "3", "unmerged")}
    monkeypatch.setattr(list_schedules, "shares", lambda *_: found | scotch)
    reported: list[str] = []
    first = list_schedules.run(tmp_path, reported.append)
    assert reported == ["small on 2xK80"]
    assert list_schedules.run(tmp_path, reported.append) == first
    assert reported == ["small on 2xK80"]
    assert first.splitlines()[-3].startswith("| small, 2xK80 | ") and first.splitlines()[-3].endswith("| – |")
    assert first.splitlines()[-2].startswith("| mean | ")
    problem = problem_on(prepared_graph(8), "2xK80")
    placement = one_device_placements(problem)[0]
    Yardstick(tmp_path / "yardstick.jsonl").offer(
        problem, placement, FoundBy("single_device", 0, 0.0), "small on 2xK80"
    )
    with_best = list_schedules.run(tmp_path, reported.append).splitlines()
    assert with_best[-3].endswith(" 0.800 | 1.000 |") and reported == ["small on 2xK80"]
    assert with_best[-1].endswith("| -20.0 % (-20.0 to -20.0) | +0.0 % (+0.0 to +0.0) |")
