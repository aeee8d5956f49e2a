"""The RNN over the paper's budget: tenths that follow each other are one training, lost states change nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.events import Json
from engine.problem import PlacementProblem
from experiments import rnn_paper
from experiments.rnn_paper import Drawn, drawn_at_random, heard_problem, least_entropy, trained_tenth, whole_batches
from tests.engine.placers.small_problems import small_problem
from tests.engine.small_runs import prepared_graph

SMALL: dict[str, Json] = {"preset": "fast", "hidden_width": 8}
EVALUATIONS = 100


def tenths(problem: PlacementProblem, folder: Path, *numbers: int) -> list[Drawn]:
    drawn = [trained_tenth(problem, SMALL, number, EVALUATIONS, folder) for number in numbers]
    return [replace(each, processor_seconds=0.0) for each in drawn]


def test_tenths_end_with_a_batch_and_the_last_one_with_the_budget() -> None:
    assert [whole_batches(number, 100, SMALL) for number in (0, 1, 2, 9, 10)] == [0, 16, 24, 96, 100]


def test_a_lost_state_changes_nothing(tmp_path: Path) -> None:
    problem = small_problem(2)
    whole = tenths(problem, tmp_path / "kept", *range(1, 11))
    assert sum(each.evaluations for each in whole) == EVALUATIONS
    assert tenths(problem, tmp_path / "lost", 4) == whole[3:4]
    assert tenths(problem, tmp_path / "kept", 1, 2) == whole[:2]  # the state of the whole run is of no use to them


def test_what_is_drawn_is_counted() -> None:
    problem = small_problem(2, ops=2)  # nine placements: two GPUs and a CPU
    drawn = drawn_at_random(problem, 64)
    assert drawn.distinct == 9 / 64 and drawn.evaluations == 64 and drawn.entropy is None
    heard = heard_problem(problem, 3)
    heard.evaluate(np.array([[0, 0], [0, 1], [0, 0]], np.int32))
    times_us = heard.heard.step_time_us
    counted = heard.heard.drawn(0, 1, 0.0)
    assert counted.distinct == 1.0 and counted.evaluations == 2
    assert counted.best_us == min(times_us[1:]) and counted.best_at == 2 + times_us[1:].index(counted.best_us)


def test_a_bound_on_the_scores_keeps_entropy() -> None:
    scores = np.array([1.5, -1.5])
    shares = np.exp(scores) / np.exp(scores).sum()
    assert least_entropy(1.5) == pytest.approx(-(shares * np.log(shares)).sum())
    assert least_entropy(0.0) == pytest.approx(np.log(2.0))


def test_a_second_call_computes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rnn_paper, "prepared_graph", lambda _: prepared_graph())
    monkeypatch.setattr(rnn_paper, "EVALUATIONS", EVALUATIONS)
    monkeypatch.setattr(rnn_paper, "PRESETS", ("fast",))
    monkeypatch.setattr(rnn_paper, "STATES", tmp_path / "states")
    text = rnn_paper.run(tmp_path, lambda _: None)
    assert "preset `fast`" in text
    monkeypatch.setattr(rnn_paper, "trained_tenth", lambda *_: pytest.fail("it is known"))
    assert rnn_paper.run(tmp_path, lambda _: None) == text == (tmp_path / "rnn_paper.md").read_text()
