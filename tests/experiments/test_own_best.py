"""What methods find by themselves, on a small graph: the figures of a run, the page, and resuming."""

from pathlib import Path

import pytest

from engine.events import Json
from experiments import own_best
from experiments.grid import KeptResults, Measurement
from experiments.problems import problem_on
from tests.engine.small_runs import prepared_graph


def test_figures_of_a_run() -> None:
    problem = problem_on(prepared_graph(), "2xK80")
    found = own_best.figures(problem, "post", 0, 60)
    assert found["divergence"] > 0 and found["one_device_us"] > 0
    assert len(found["distinct"]) == len(found["entropy"]) == 10
    assert all(0 < share <= 1 for share in found["distinct"])
    searched = own_best.figures(problem, "local_search", 0, 60)
    assert searched["own_best_us"] <= searched["one_device_us"] == found["one_device_us"]


@pytest.mark.parametrize(
    ("own", "divergence", "expected"), [(0.9, 0.06, "yes"), (0.9, 0.19, "no"), (0.95, 0.06, "no"), (1.1, 0.06, "no")]
)
def test_post_holds_with_half_of_the_gain_near_its_aim(
    tmp_path: Path, own: float, divergence: float, expected: str
) -> None:
    kept = KeptResults(tmp_path / "kept.jsonl")
    for method, best in (("post", own), ("local_search", 0.82)):
        found: dict[str, Json] = {
            "one_device_us": 50.0,
            "own_best_us": 50 * best,
            "divergence": divergence,
            "divergence_aim": 0.06,
        }
        kept.add(own_best.keys(method, "nmt", "8xK80")[0], found)
    (line,) = (line for line in own_best.page(kept).splitlines() if line.startswith("| nmt, 8xK80"))
    assert line.endswith(f"| {expected} |")
    assert ("one device is better" in line) == (own > 1)


@pytest.mark.parametrize(
    ("distinct", "entropy", "expected"), [(0.5, 0.05, "yes"), (0.49, 0.05, "no"), (0.5, 0.049, "no")]
)
def test_a_policy_holds_that_keeps_looking(tmp_path: Path, distinct: float, entropy: float, expected: str) -> None:
    kept = KeptResults(tmp_path / "kept.jsonl")
    found: dict[str, Json] = {"one_device_us": 50.0, "own_best_us": 50.0, "devices_of_best": 1}
    tenths: dict[str, Json] = {"distinct": [*[1.0] * 9, distinct], "entropy": [*[0.7] * 8, entropy, 0.0]}
    kept.add(own_best.keys("rnn", "nmt", "2xK80")[0], {**found, **tenths})
    (line,) = (line for line in own_best.page(kept).splitlines() if line.startswith("| rnn, nmt, 2xK80"))
    assert line.endswith(f"| {expected} |") and "one device is better, one device" in line


def test_a_second_call_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(kept: KeptResults, _function: str, orders: dict[str, Measurement], *_: object) -> None:
        problem = problem_on(prepared_graph(), "2xK80")
        for key in orders.values():
            if key not in kept:
                reported.append(str(key["method"]))
                kept.add(key, own_best.figures(problem, str(key["method"]), 0, 20))

    reported: list[str] = []
    monkeypatch.setattr(own_best, "measure_cells", measure)
    monkeypatch.setattr(own_best, "kept_zoo_graph", lambda *_: prepared_graph())
    monkeypatch.setattr(own_best, "EVALUATIONS", {"local_search": 20, "post": 20, "rnn": 20, "hierarchical": 20})
    monkeypatch.setattr(own_best, "GRAPHS", ("nmt",))
    monkeypatch.setattr(own_best, "CLUSTERS", ("2xK80",))
    monkeypatch.setattr(own_best, "SEEDS", {"local_search": 1, "post": 1, "rnn": 1, "hierarchical": 1})
    text = own_best.run(tmp_path, lambda _: None)
    assert reported == ["local_search", "post", "rnn", "hierarchical"]
    assert own_best.run(tmp_path, lambda _: None) == text == (tmp_path / "own_best.md").read_text()
    assert len(reported) == 4
