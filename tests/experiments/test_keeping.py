"""Kept results, the digest of the code, and the statistics of tables."""

import ast
import gc
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from experiments import grid
from experiments.grid import RESULT, KeptResults, measure_cells, of_any_code
from experiments.keeping import code_state as code_state_module
from experiments.keeping import statistics
from experiments.keeping.code_state import code_state, meaning


def double_in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """A child's work: twice a number."""
    number = arguments["number"]
    assert isinstance(number, int)
    return {}, {RESULT: 2 * number}


def test_a_second_call_computes_what_is_missing(tmp_path: Path) -> None:
    path, reported = tmp_path / "deep" / "doubles.jsonl", list[str]()
    function = f"{__name__}:double_in_child"
    measure_cells(KeptResults(path), function, {"one": {"number": 1}, "two": {"number": 2}}, 2, reported.append)
    assert len(reported) == 2
    kept = KeptResults(path)
    measure_cells(kept, function, {"two": {"number": 2}, "three": {"number": 3}}, 1, reported.append)
    assert reported[2:] == ["1 of 1: three"]
    assert [kept[{"number": number}] for number in (1, 2, 3)] == [2, 4, 6]
    assert {"number": 4} not in kept


def test_results_of_other_code_count_only_where_any_code_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.jsonl"
    KeptResults(path).add({"seed": 0}, 1.0)
    monkeypatch.setattr(grid, "code_state", lambda: "other")
    assert {"seed": 0} not in KeptResults(path)
    of_any = KeptResults(path, also=of_any_code)
    assert of_any[{"seed": 0}] == 1.0
    of_any.add({"seed": 1}, 2.0)
    assert "2 states of the code" in of_any.made([{"seed": 0}, {"seed": 1}])
    assert of_any.made([{"seed": 1}]).startswith("code other, ")
    assert [json.loads(line)["key"]["seed"] for line in path.read_text().splitlines()] == [0, 1]


def test_the_digest_sees_code_alone() -> None:
    source = 'def double(x):\n    """Twice."""\n    return 2 * x  # exact\n'
    assert meaning(source) == meaning("def double(x):\n    return (2 * x)\n")
    assert meaning(source) != meaning("def double(x):\n    return 3 * x\n")
    code_state_module._computed.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: code_state(), range(4)))) == 1, "threads may ask at the same time"


def test_the_digest_is_right_while_a_collection_of_garbage_parses_too() -> None:
    expected = code_state()
    code_state_module._computed.cache_clear()
    nested = "f(" * 20 + ")" * 20

    def parse(_phase: str, _facts: dict[str, int]) -> None:
        ast.parse(nested)

    thresholds = gc.get_threshold()
    gc.callbacks.append(parse)
    gc.set_threshold(50)
    try:
        assert code_state() == expected
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(parse)
    assert gc.isenabled()


def test_the_bootstrap_keeps_the_values_of_a_unit_together() -> None:
    rng = np.random.default_rng(0)
    of_units = [[float(rng.normal())] * 50 for _ in range(30)]
    together = statistics.mean_over(of_units)
    apart = statistics.mean_over([[value] for values in of_units for value in values])
    assert together.mean == pytest.approx(apart.mean)
    assert together.high - together.low > 4 * (apart.high - apart.low), "50 equal values are one observation"
    assert together.low < together.mean < together.high


def test_the_bootstrap_of_many_units_is_near_the_closed_form() -> None:
    values = np.random.default_rng(1).normal(3.0, 1.0, size=400)
    interval = statistics.mean_over([[value] for value in values])
    half = 1.96 * values.std() / 20
    assert interval.low == pytest.approx(values.mean() - half, abs=0.02)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.02)


def test_a_paired_mean_above_a_limit() -> None:
    differences = [0.03, 0.02, 0.04, 0.03]
    score = (np.mean(differences) - 0.01) / (np.std(differences, ddof=1) / 2)
    assert statistics.exceeds(differences, 0.01) == pytest.approx(float(t.sf(score, 3)))
    assert statistics.exceeds([0.5], 0.01) == 1.0
    assert (statistics.exceeds([0.02] * 3, 0.01), statistics.exceeds([0.01] * 3, 0.01)) == (0.0, 1.0)


def test_the_interval_of_paired_differences() -> None:
    interval = statistics.paired_mean([0.03, 0.02, 0.04, 0.03])
    half = 3.182 * np.std([0.03, 0.02, 0.04, 0.03], ddof=1) / 2
    assert (interval.low, interval.mean, interval.high) == pytest.approx((0.03 - half, 0.03, 0.03 + half), rel=1e-3)
    assert statistics.paired_mean([0.5]) == statistics.MeanInterval(0.5, -np.inf, np.inf)
    assert statistics.paired_mean([0.5] * 3) == statistics.MeanInterval(0.5, 0.5, 0.5)


def test_holm_stops_at_the_first_that_is_too_likely() -> None:
    assert statistics.holm([0.04, 0.001, 0.03], 0.05) == [False, True, False]
    assert statistics.holm([0.01, 0.012, 0.02], 0.05) == [True, True, True]
    assert statistics.holm([], 0.05) == []
