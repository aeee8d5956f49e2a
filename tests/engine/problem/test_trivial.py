"""The trivial placements and the shared prior."""

import numpy as np
import pytest

from engine.placers.brkga import decoded
from engine.problem.trivial import all_on, best_one_device, one_device_placements, prior_scores, scores_for
from tests.engine.placers.small_problems import small_problem, with_memory

ALLOWED = np.array(
    [[True, True, True, True], [True, True, False, False], [True, False, False, True], [False, True, False, False]]
)


@pytest.mark.parametrize("device", [0, 1, 3])
def test_the_preferred_device_has_four_fifths_and_the_others_share_the_rest(device: int) -> None:
    powers = np.where(ALLOWED, np.exp(scores_for(ALLOWED, device)), 0.0)
    probabilities = powers / powers.sum(axis=1, keepdims=True)
    for row, allowed, preferred in zip(probabilities, ALLOWED, all_on(ALLOWED, device), strict=True):
        others = np.flatnonzero(allowed & (np.arange(4) != preferred))
        assert row[preferred] == pytest.approx(0.8 if len(others) else 1.0)
        assert row[others].tolist() == pytest.approx([0.2 / max(1, len(others))] * len(others))
        assert not row[~allowed].any()


def test_keys_to_the_power_of_its_scores_give_the_same_probabilities() -> None:
    uniform = np.random.default_rng(0).random((20_000, *ALLOWED.shape))
    placements = decoded(uniform ** np.exp(-scores_for(ALLOWED, 1)), ALLOWED)
    shares = np.eye(4)[placements].mean(axis=0)
    assert shares == pytest.approx(
        np.array([[0.2 / 3, 0.8, 0.2 / 3, 0.2 / 3], [0.2, 0.8, 0, 0], [0.8, 0, 0, 0.2], [0, 1, 0, 0]]), abs=0.015
    )


def test_it_prefers_what_fits_in_memory_then_the_shortest_step() -> None:
    roomy = small_problem(1, devices=2, cpu=True)
    assert best_one_device(roomy) == 0, "the CPU is ten times slower"
    tight = with_memory(small_problem(1, devices=2, cpu=True), [1, 1, 10**9])
    assert best_one_device(tight) == 2
    for problem in (roomy, tight):
        problem.evaluate(one_device_placements(problem))
        assert all_on(problem.allowed, best_one_device(problem)).tolist() == problem.ledger.answer().tolist()


def test_the_published_prior_changes_no_score() -> None:
    problem = small_problem(1, pins=True)
    assert not prior_scores(problem, "published").any()
    assert prior_scores(problem, "best_trivial").any()
