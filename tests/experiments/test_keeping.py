"""Kept results, the digest of the code, and the statistics of tables."""

import ast
import gc
import gzip
import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from engine.child.parent import ReportProgress, Results
from engine.comparing.grid import EndingError, GoOn, fill
from engine.errors import LimitError
from engine.events import Json
from experiments import grid
from experiments.grid import KEYS, RESULT, KeptResults, MadeFiles, measure_cells, of_any_code
from experiments.keeping import code_state as code_state_module
from experiments.keeping import statistics
from experiments.keeping.code_state import code_state, meaning
from experiments.pages import read_json, write_rows


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


def test_what_is_compressed_counts_and_new_lines_are_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    for seed in (0, 1):
        KeptResults(path).add({"seed": seed}, "earlier")
    packed = path.with_name("kept.jsonl.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    KeptResults(path).add({"seed": 1}, "later")
    kept = KeptResults(path)
    assert [kept[{"seed": seed}] for seed in (0, 1)] == ["earlier", "later"]
    assert len(path.read_text().splitlines()) == 1, "the compressed lines stay where they are"
    packed.write_bytes(packed.read_bytes() + gzip.compress(path.read_bytes()))  # as with gzip -nc
    path.unlink()
    assert KeptResults(path)[{"seed": 1}] == "later"


def test_a_large_file_of_rows_is_compressed(tmp_path: Path) -> None:
    small, large = ["a"], ["a" * 1000] * 300
    for rows, name in ((small, "rows.json"), (large, "rows.json.gz"), (small, "rows.json")):
        write_rows(tmp_path, "rows", rows)
        assert [path.name for path in tmp_path.iterdir()] == [name]
        assert read_json(tmp_path / "rows.json") == rows
    write_rows(tmp_path, "large", large)
    before = (tmp_path / "large.json.gz").read_bytes()
    write_rows(tmp_path, "large", large)
    assert (tmp_path / "large.json.gz").read_bytes() == before, "equal rows are equal bytes"
    assert read_json(tmp_path / "none.json") is None


def test_cells_of_one_child_are_kept_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[tuple[str, list[int]]] = []

    def run(_function: str, arguments: dict[str, Any], *_: object, task: str, **__: object) -> Results:
        numbers: list[int] = [each["number"] for each in arguments[KEYS]]
        shares.append((task, numbers))
        return {}, {RESULT: [2 * number for number in numbers]}

    monkeypatch.setattr(grid, "run_in_child", run)
    kept = KeptResults(tmp_path / "kept.jsonl")
    kept.add({"number": 3}, 6)
    cells: dict[int, dict[str, Json]] = {number: {"number": number} for number in range(6)}
    found = measure_cells(kept, "", cells, 1, lambda _: None, together=lambda number: f"{number % 2}")
    assert found == {number: 2 * number for number in range(6)} and list(found) == list(cells)
    assert shares == [("0", [0, 2, 4]), ("1", [1, 5])]


def test_a_cell_that_fails_is_tried_again_and_those_before_it_are_kept(tmp_path: Path) -> None:
    kept = KeptResults(tmp_path / "kept.jsonl")
    cells: dict[int, dict[str, Json]] = {number: {"number": number} for number in range(3)}
    tried: list[int] = []

    def measure(share: Sequence[int], _go_on: GoOn) -> Iterator[int]:
        for number in share:
            tried.append(number)
            if number == 1 and tried.count(1) == 1:
                raise LimitError("it took too long")
            yield number

    with pytest.raises(LimitError):
        fill(cells, kept, measure, 1)
    assert 0 in [key["number"] for key in cells.values() if key in kept] and cells[1] not in kept
    tried.clear()
    assert fill(cells, kept, measure, 1, instead=lambda *_: -1) == {0: 0, 1: -1, 2: 2}
    assert 0 not in tried and cells[1] not in kept, "what stands in for a result is not kept"
    assert fill(cells, kept, measure, 1) == {0: 0, 1: 1, 2: 2}


def test_the_others_end_where_one_fails() -> None:
    begun, ended = threading.Event(), threading.Event()

    def measure(share: Sequence[str], go_on: GoOn) -> Iterator[int]:
        if share == ["fails"]:
            begun.wait(10)
            raise LimitError("it took too long")
        begun.set()
        try:
            while not ended.wait(0.001):
                go_on()
        except EndingError:
            ended.set()
            raise
        yield 1

    cells: dict[str, dict[str, Json]] = {name: {"name": name} for name in ("works", "fails", "waits")}
    with pytest.raises(LimitError):
        fill(cells, MadeFiles(lambda _: Path("not there")), measure, 2)
    assert ended.is_set()


def test_files_that_children_made_are_not_made_again(tmp_path: Path) -> None:
    files = MadeFiles(lambda key: tmp_path / str(key["name"]))
    made: list[str] = []

    def measure(share: Sequence[str], _go_on: GoOn) -> Iterator[Path]:
        for name in share:
            made.append(name)
            (tmp_path / name).touch()
            yield tmp_path / name

    cells: dict[str, dict[str, Json]] = {name: {"name": name} for name in ("a", "b")}
    for _ in range(2):
        assert fill(cells, files, measure, 1) == {name: tmp_path / name for name in cells}
    assert made == ["a", "b"]


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
