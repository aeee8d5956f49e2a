"""The experiments with the published networks from end to end on small graphs, their children in this process."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.events import Json
from experiments import ablations, figure5, grid
from experiments.ablations import REFERENCE, VARIANTS
from experiments.grid import KeptResults
from experiments.policies import problems as policy_problems
from experiments.published import trainings
from experiments.published.scope import make_published_scope
from experiments.published.trainings import order_of, train_in_child
from tests.engine.small_runs import prepared_graph
from tests.experiments.small_experiments import children_in, family_of

Run = Callable[..., str]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Json]:
    """Of experiments of a second."""

    monkeypatch.setattr(grid, "run_in_child", children_in(tmp_path))
    monkeypatch.setattr(policy_problems, "prepared_family", family_of(lambda index: prepared_graph(6 + index % 2)))
    monkeypatch.setattr(trainings, "WORK", tmp_path / "work")
    monkeypatch.setattr("experiments.published.optimising.WORK", tmp_path / "work")
    monkeypatch.setitem(trainings.PUBLISHED, "message_rounds", 1)
    numbers: dict[str, Json] = {"seeds": 2, "episodes": 16, "checkpoints": 2, "train_graphs": 2, "graphs": 2}
    more: dict[str, Json] = {"curve_episodes": 24, "optimised_graphs": 1, "optimised_episodes": 8}
    return {"families": "nmt", "processes": 1, "auto_evaluations": 20, **numbers, **more}


def nothing_is_made_again(run: Run, folder: Path, settings: dict[str, Json], monkeypatch: pytest.MonkeyPatch) -> None:
    """A second call takes all from the kept results and writes the same page."""
    text = run(folder, lambda _: None, settings)

    def made(*_: object, **__: object) -> None:
        raise AssertionError("something was made again")

    monkeypatch.setattr(grid, "run_in_child", made)
    assert run(folder, lambda _: None, settings) == text


def test_ablations(tmp_path: Path, settings: dict[str, Json], monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_is_made_again(ablations.run, tmp_path, {**settings, "seeds": 1}, monkeypatch)
    text = (tmp_path / "ablations.md").read_text()
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| nmt, ")
    ]
    assert [row[0] for row in rows[:3]] == [f"nmt, {variant.label}" for variant in VARIANTS[:3]]
    assert {row[1] for row in rows[:3]} == {"2"}, "equal updates"
    assert rows[0][-2:] == ["", ""] and rows[1][-2].endswith(")") and rows[1][-1] == "about 13 %"
    assert [row[:2] for row in rows[3:]] == [["nmt, intermediate", "3"], ["nmt, terminal", "3"]]
    assert (tmp_path / "ablations.png").stat().st_size > 1000
    assert len(json.loads((tmp_path / "ablations.json").read_text())) == 5


def test_figure5(tmp_path: Path, settings: dict[str, Json], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure5, "seconds_of", lambda *_: 0.2)
    text = figure5.run(tmp_path, lambda _: None, settings)
    for weights in (tmp_path / "work").glob("*.weights"):
        weights.unlink()
    kept = tmp_path / "kept" / "published.jsonl"
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text(
        "".join(line for line in lines if '"key": {"episodes": 8, "graph": 0, "of": "optimised"' not in line)
    )
    reported: list[str] = []
    again = figure5.run(tmp_path, reported.append, settings)
    lost = [line for line in reported if line.startswith("weights of ")]
    assert [line.split(" ", 3)[3] for line in lost] == ["kept results are lost: training again"] * len(lost)
    assert lost, "the optimised trainings need them"
    found = json.loads((tmp_path / "figure5.json").read_text())
    assert set(found["nmt"]) == set(figure5.LINES)
    assert {line: len(graphs) for line, graphs in found["nmt"].items() if len(graphs) == 1} == dict.fromkeys(
        ("placeto_optimised", "placeto_best", "rnn_optimised", "rnn_best"), 1
    )
    assert all(len(found["nmt"][line]["0"]) == 2 for line in ("placeto", "rnn", "random", "untrained", "auto"))
    assert "| Placeto, zero-shot |" in text and "| auto, 20 evaluations |" in again
    assert (tmp_path / "figure5.png").stat().st_size > 1000


def test_a_stopped_training_goes_on_from_its_state(
    tmp_path: Path, settings: dict[str, Json], monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = make_published_scope({**settings, "episodes": 32, "checkpoints": 4})
    order = order_of(scope, "nmt", 0, REFERENCE.settings)
    _, whole = train_in_child(dict(order.key()), tmp_path, lambda *_: None)
    counted = [{**row, "seconds": 0} for row in whole["result"]]  # type: ignore[dict-item,union-attr]
    monkeypatch.setattr(trainings, "WORK", tmp_path / "other")
    monkeypatch.setattr(trainings, "STATE_SECONDS", 0.0)

    def stop(_: object, placements: object) -> list[float | None]:
        raise KeyboardInterrupt(placements)

    with monkeypatch.context() as stopped:
        stopped.setattr(trainings, "shares_of", stop)
        with pytest.raises(KeyboardInterrupt):
            train_in_child(dict(order.key()), tmp_path, lambda *_: None)
    _, after = train_in_child(dict(order.key()), tmp_path, lambda *_: None)
    assert [{**row, "seconds": 0} for row in after["result"]] == counted  # type: ignore[dict-item,union-attr]


def test_worse_is_over_graphs_and_seeds(tmp_path: Path) -> None:
    scope = make_published_scope({"families": "nmt", "seeds": 2, "graphs": 2})
    kept = KeptResults(tmp_path / "kept.jsonl")
    greedy: dict[str, list[Json]] = {"published": [0.5, None, 0.8], "simple_aggregator": [0.6, 0.9, 0.8]}
    for variant in (VARIANTS[0], VARIANTS[2]):
        for seed in range(2):
            order = order_of(scope, "nmt", seed, variant.settings)
            kept.add(order.key(), [{"greedy": greedy[str(variant.settings["network"])]}])
    assert ablations.worse(kept, scope, ("nmt",), VARIANTS[2]) == "+10.0 % (+0.0 to +20.0)"
