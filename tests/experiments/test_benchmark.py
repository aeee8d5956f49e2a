"""The benchmark as a command, with drawn graphs: it resumes, keeps what is best, and takes a method of one's own."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import PlacementError, SettingsError
from engine.problem import Budget, PlacementProblem
from engine.problem.making import problem_of
from engine.simulator.streams.stream import Pipeline, Stream
from engine.zoo.random_graphs import random_graph
from experiments.__main__ import main
from experiments.benchmark import measuring, table
from experiments.benchmark.clusters import BENCHMARK_CLUSTERS
from experiments.benchmark.own_method import own_method
from experiments.benchmark.running import WARM_UP, BenchmarkMethod, MethodRun, carried_out
from experiments.benchmark.table import draw
from experiments.keeping.lower_bounds import KeptBounds
from experiments.keeping.yardstick import Yardstick, key_of
from tests.experiments.drawn_corpus import drawn_corpus
from tests.json_schema import faults

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "formats" / "benchmark.schema.json").read_text())
SMALL: dict[str, Any] = {
    "graphs": 2,
    "clusters": "pair,tight",
    "methods": "random,heft,single_device,pipeline_dp",
    "evaluations": 20,
    "seconds": 0.02,
    "seeds": 2,
    "seed_graphs": 1,
}
GOOD = """
import numpy as np

class Mine:
    def place(self, problem, rng, should_stop):
        while not problem.ledger.spent:
            first = problem.allowed.argmax(axis=1)
            problem.evaluate_episodes(first[None].astype(np.int32))

class Wrong:
    pass
"""


class Benchmark:
    """A benchmark on a drawn corpus in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said = folder / "out", list[str]()
        self.corpus = folder / "corpus"
        drawn_corpus(self.corpus, 3)

    def run(self, **more: Any) -> str:
        """Run it with the small scope and `more` settings."""
        return table.run(self.folder, self.said.append, SMALL | {"corpus": str(self.corpus)} | more)

    def results(self, name: str = "benchmark") -> dict[str, Any]:
        """The JSON."""
        return dict(json.loads((self.folder / f"{name}.json").read_text()))

    def rows(self) -> list[dict[str, Any]]:
        """The kept rows of runs."""
        lines = (self.folder / "kept" / "benchmark.jsonl").read_text().splitlines()
        return [row for row in map(json.loads, lines) if "method" in row["key"]]


@pytest.fixture
def benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    made = Benchmark(tmp_path)
    monkeypatch.setattr(table, "LIST", made.corpus / "corpus.json")
    monkeypatch.setattr(table, "draw", lambda *_: {})
    return made


def test_it_writes_page_plots_and_json_and_a_second_call_runs_nothing(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as drawing:
        drawing.setattr(table, "draw", draw)
        pictures = benchmark.run()
    text = benchmark.run(measure=False)
    assert pictures.startswith(text)
    assert (benchmark.folder / "benchmark.md").read_text() == text
    for name in ("size", "kind", "few"):
        picture = f"benchmark_{name}.png"
        assert f"]({picture})" in pictures and (benchmark.folder / picture).read_bytes().startswith(b"\x89PNG")
    results = benchmark.results()
    assert list(faults(results, SCHEMA, SCHEMA)) == []
    assert len(results["problems"]) == 2 * 2 * 2 and len(results["graphs"]) == 2
    runs = {(run["problem"], run["method"], run["budget"], run["seed"]) for run in results["runs"]}
    assert len(runs) == len(results["runs"])
    assert {seed for _, method, _, seed in runs if method == "random"} == {0, 1}
    assert {seed for _, method, _, seed in runs if method == "heft"} == {0}
    refused = {run["method"] for run in results["runs"] if "refused" in run}
    assert refused == {"pipeline_dp"}
    (heft,) = [row for row in results["methods"] if row["name"] == "heft"]
    assert heft["label"] == "HEFT" and heft["deterministic"] and heft["seeds"] == [0]
    answered = [problem for problem in results["problems"] if problem["best_known_us"] is not None]
    assert len(answered) > 4
    for problem in answered:
        assert problem["lower_bound_us"] <= problem["best_known_us"] * (1 + 1e-9)
    rows = benchmark.rows()
    assert not any(row["key"]["method"] == "heft" and "seconds" in row["key"] for row in rows)
    monkeypatch.setattr(measuring, "carried_out", lambda *_: pytest.fail("again"))
    assert benchmark.run() == text and benchmark.rows() == rows


def test_it_continues_after_a_stop_and_rows_of_other_code_do_not_count(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = {"graphs": 1, "clusters": "pair", "methods": "heft,random", "seconds": 0.0}
    whole = carried_out
    made: list[str] = []

    def stopped(*arguments: Any) -> Any:
        if arguments[2] != WARM_UP and len(made) == 2:
            raise KeyboardInterrupt
        made.extend([arguments[1].name] * (arguments[2] != WARM_UP))
        return whole(*arguments)

    monkeypatch.setattr(measuring, "carried_out", stopped)
    with pytest.raises(KeyboardInterrupt):
        benchmark.run(**scope)
    assert [row["key"]["method"] for row in benchmark.rows()] == ["random", "random"]
    monkeypatch.setattr(measuring, "carried_out", whole)
    benchmark.run(**scope)
    keys = [json.dumps(row["key"]) for row in benchmark.rows()]
    assert len(keys) == len(set(keys)) == 2 * (1 + 2)
    monkeypatch.setattr("experiments.grid.code_state", lambda: "other")
    assert "No run is made yet." in benchmark.run(**scope, measure=False)
    benchmark.run(**scope)
    assert len(benchmark.rows()) == 2 * len(keys)


def test_best_known_and_bounds_only_improve(benchmark: Benchmark) -> None:
    scope = {"graphs": 1, "clusters": "pair", "objective": "step_time", "seconds": 0.0}
    known = Yardstick(benchmark.folder / "benchmark_best.jsonl")
    benchmark.run(**scope, methods="auto")
    (auto,) = known.lines().values()
    benchmark.run(**scope, methods="single_device")
    assert list(known.lines().values()) == [auto]
    gaps = {row["method"]: row["gap"]["mean"] for row in benchmark.results()["scores"] if row["dimension"] == "all"}
    assert gaps["auto"] >= 0.0 and gaps["single_device"] > gaps["auto"]
    forged = json.loads((benchmark.folder / "benchmark_best.jsonl").read_text()) | {"step_time_us": 1.0}
    (benchmark.folder / "benchmark_best.jsonl").write_text(json.dumps(forged) + "\n")
    with pytest.raises(PlacementError, match="its best known placement takes"):
        benchmark.run(**scope, methods="heft")


def test_a_bound_above_a_placement_is_an_error_and_a_lower_one_is_not_kept(tmp_path: Path) -> None:
    bounds = KeptBounds(tmp_path / "bounds.jsonl")
    assert bounds.offer("key", "name", 10.0, "formula", None)
    assert bounds.offer("key", "name", 20.0, "milp", 20.0 * (1 - 1e-6))
    assert not bounds.offer("key", "name", 15.0, "milp", None)
    assert bounds.lines()["key"].lower_bound_us == 20.0 * (1 - 1e-6)
    with pytest.raises(PlacementError, match=r"name: milp claims that nothing is below 30\.0"):
        bounds.offer("key", "name", 30.0, "milp", 25.0)


def test_a_stream_is_another_problem_than_a_step() -> None:
    step = problem_of(random_graph("tree", 12, np.random.default_rng(0)), BENCHMARK_CLUSTERS["pair"].cluster)
    streams = [dataclasses.replace(step, stream=Stream(count, Pipeline.INFERENCE)) for count in (4, 8)]
    assert len({key_of(each) for each in (step, *streams)}) == 3


def test_a_side_for_tuning_has_its_own_files(benchmark: Benchmark) -> None:
    rows = json.loads((benchmark.corpus / "corpus.json").read_text())["graphs"]
    listed = {"graphs": [row | {"split": "development"} for row in rows]}
    (benchmark.corpus / "corpus.json").write_text(json.dumps(listed))
    text = benchmark.run(side="development", graphs=1, clusters="pair", methods="heft", objective="step_time")
    assert "the corpus's development side" in text
    assert benchmark.results("benchmark_development")["scope"]["side"] == "development"
    assert not (benchmark.folder / "benchmark.md").exists()


def test_a_method_of_ones_own_stands_in_the_same_table(benchmark: Benchmark, tmp_path: Path) -> None:
    file = tmp_path / "my_placer.py"
    file.write_text(GOOD)
    scope = {"graphs": 1, "clusters": "pair", "objective": "step_time", "method": f"{file}:Mine"}
    text = benchmark.run(**scope, methods="heft")
    assert "| my_placer.py:Mine | 1 | 1 |" in text and "| HEFT | 1 | 1 |" in text
    (mine,) = [row for row in benchmark.results()["methods"] if row["name"] == "my_placer.py:Mine"]
    assert mine["kind"] == "own" and mine["settings"] == {} and list(faults(benchmark.results(), SCHEMA, SCHEMA)) == []
    assert benchmark.run(**scope, methods="none") == text
    file.write_text(GOOD + "\n")
    benchmark.run(**scope, methods="none")
    assert len({row["key"].get("file") for row in benchmark.rows()}) == 3


def test_a_policy_gives_the_methods_that_take_one_a_second_row(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quick(problem: PlacementProblem, _: BenchmarkMethod, budget: Budget, seed: int) -> MethodRun:
        return carried_out(problem, BenchmarkMethod("single_device"), budget, seed)

    monkeypatch.setattr(measuring, "carried_out", quick)
    monkeypatch.setattr(measuring, "warm_up", lambda *_: None)
    file = Path(__file__).parents[2] / "policies" / "default.safetensors"
    scope = {"graphs": 1, "clusters": "pair", "objective": "step_time", "seconds": 0.0, "methods": "none"}
    text = benchmark.run(**scope, policy=str(file))
    assert (
        "| Auto with default.safetensors | 1 | 1 |" in text and "| Placeto with default.safetensors | 1 | 1 |" in text
    )
    assert {row["key"]["method"] for row in benchmark.rows()} == {
        *("auto+default.safetensors", "placeto+default.safetensors"),
    }
    with pytest.raises(SettingsError, match="nowhere: there is no such file"):
        benchmark.run(**scope, policy="nowhere")


def body(line: str) -> str:
    return f"import numpy as np\nclass Mine:\n    def place(self, problem, rng, should_stop):\n        {line}\n"


EVALUATE = "problem.evaluate_episodes(np.{})"


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            body("raise ValueError('oh')"),
            "mine.py:Mine: place raised ValueError: oh, in line 4 of mine.py; allowed",
        ),
        (body("pass"), "mine.py:Mine: place evaluated no placement; allowed: at least one call"),
        (
            body(EVALUATE.format("zeros((1, 2), int)")),
            "mine.py:Mine: placements of shape (1, 2) and type int64; allow",
        ),
        (body(EVALUATE.format("zeros((1, problem.group_count))")), "type float64; allowed: integers of shape (any, "),
        (
            body(EVALUATE.format("full((1, problem.group_count), 7)")),
            "a placement has devices from 7 to 7; allowed: 0",
        ),
        (body(EVALUATE.format("zeros((999, problem.group_count), int)")), "it spent more than its budget: 999"),
        ("class Mine:\n    def __init__(self, x): pass\n    def place(self): pass\n", "Mine() raised TypeError"),
    ],
)
def test_mistakes_that_a_run_shows_are_a_sentence(
    benchmark: Benchmark, tmp_path: Path, source: str, sentence: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(source)
    with pytest.raises(SettingsError) as raised:
        benchmark.run(graphs=1, clusters="pair", objective="step_time", methods="none", method=f"{file}:Mine")
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("mine.py", "mine.py: no file and class; allowed: FILE.py:CLASS"),
        ("nowhere.py:Mine", "nowhere.py: there is no such file"),
        ("good.py:Yours", "good.py: it has no class Yours; allowed: Mine, Wrong"),
        ("good.py:Wrong", "good.py: Wrong has no method place; allowed: place(self, problem, rng, should_stop)"),
        ("broken.py:Mine", "broken.py: it cannot be imported: NameError: name 'oh' is not defined, in line 1"),
    ],
)
def test_mistakes_of_the_place_are_a_sentence(
    place: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "broken.py").write_text("oh\n")
    with pytest.raises(SettingsError) as raised:
        own_method(place)
    assert str(raised.value).startswith(sentence)


def test_each_setting_is_an_option(benchmark: Benchmark, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--corpus", str(benchmark.corpus), "--graphs", "1", "--clusters", "pair", "--set", "seconds=0"]
    options = ["--methods", "heft", "--objective", "step_time", "--seed-graphs", "0"]
    assert main(["benchmark", "--out", str(benchmark.folder), *arguments, *options]) == 0
    assert "# The benchmark: every method on one scale" in capsys.readouterr().out
    assert main(["benchmark", "--clusters", "pair,pair"]) == 2
    assert capsys.readouterr().err.startswith("clusters: 'pair,pair'; allowed: pair, unequal")
    assert main(["benchmark", "--methods", "mine"]) == 2
    assert "allowed: all, none, auto" in capsys.readouterr().err
