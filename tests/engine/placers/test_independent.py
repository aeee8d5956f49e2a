"""Post's choices: sampling, the gradient, and the minimisation of the cross entropy in closed form."""

from typing import Any

import numpy as np
import pytest

from engine.errors import SettingsError
from engine.placers.post import WEIGHT_RANGE, IndependentChoices, mean_divergence
from engine.placers.registry import make_placer
from tests.engine.placers.small_problems import small_problem
from tests.engine.placeto.problems import two_chains

ALLOWED = np.array([[True, True, True], [True, False, True], [False, False, True]])


def test_parameters_at_zero_are_a_uniform_choice_of_the_allowed_devices() -> None:
    third = 1 / 3
    expected = [[third, third, third], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]
    assert np.allclose(IndependentChoices(ALLOWED).probabilities(), expected, rtol=0, atol=1e-15)


def test_samples_come_as_often_as_their_probabilities_say() -> None:
    choices = IndependentChoices(ALLOWED)
    choices.parameters[0] = np.log([0.7, 0.2, 0.1])
    placements = choices.sample(20_000, np.random.default_rng(0))
    assert ALLOWED[np.arange(3), placements].all()
    assert np.allclose(np.eye(3)[placements].mean(axis=0), choices.probabilities(), atol=0.015)


def test_cross_entropy_minimisation_counts_the_devices_of_the_best() -> None:
    choices = IndependentChoices(ALLOWED)
    choices.parameters[:] = 17.0
    choices.minimise_cross_entropy(np.array([[0, 0, 2], [0, 2, 2], [1, 2, 2], [0, 2, 2]], dtype=np.int32), 0.3)
    third = 0.3 / 3
    expected: list[list[float]] = [
        [0.7 * 0.75 + third, 0.7 * 0.25 + third, third],
        [0.7 * 0.25 + 0.15, 0.0, 0.7 * 0.75 + 0.15],
        [0.0, 0.0, 1.0],
    ]
    assert np.allclose(choices.probabilities(), expected, rtol=0, atol=1e-12)


def test_cross_entropy_minimisation_is_the_most_likely_distribution() -> None:
    """With hardly any uniform choice mixed in, no other distribution makes the best placements likelier."""
    rng = np.random.default_rng(1)
    best = rng.integers(0, 3, (9, 5)).astype(np.int32)
    choices = IndependentChoices(np.ones((5, 3), dtype=bool))

    def likelihood() -> float:
        return float(np.log(choices.probabilities()[np.arange(5), best]).sum())

    choices.minimise_cross_entropy(best, 1e-9)
    found, parameters = likelihood(), choices.parameters.copy()
    for _ in range(50):
        choices.parameters = parameters + rng.normal(0, 0.2, (5, 3))
        assert likelihood() < found


def test_one_small_ascent_step_follows_the_numerical_gradient() -> None:
    rng = np.random.default_rng(2)
    choices = IndependentChoices(np.ones((2, 3), dtype=bool))
    choices.parameters = rng.normal(0, 1, (2, 3))
    placements = choices.sample(6, rng)
    advantages = rng.normal(0, 1, 6)
    start, old = choices.parameters.copy(), choices.probabilities()

    def gain(parameters: np.ndarray) -> float:
        choices.parameters = parameters
        new = choices.probabilities()
        ratio = new[np.arange(2), placements] / old[np.arange(2), placements]
        return float((ratio * advantages[:, None]).sum() / 6)

    gradient = np.zeros((2, 3))
    for index in np.ndindex(2, 3):
        step = np.zeros((2, 3))
        step[index] = 1e-5
        gradient[index] = (gain(start + step) - gain(start - step)) / 2e-5
    choices.parameters = start.copy()
    choices.ascend(placements, advantages, steps=1, learning_rate=1e-3, kl_aim=1.0)
    assert np.allclose((choices.parameters - start) / (1e-3 / (1 + 1.0)), gradient, atol=1e-6)


def test_the_common_gain_moves_all_groups_by_the_mean_of_their_gains() -> None:
    rng = np.random.default_rng(4)
    placements, advantages = rng.integers(0, 3, (10, 5)).astype(np.int32), rng.normal(0, 1, 10)
    moved = []
    for common_gain in (0.0, 7.0):
        choices = IndependentChoices(np.ones((5, 3), dtype=bool))
        choices.ascend(placements, advantages, steps=1, learning_rate=0.5, kl_aim=1.0, common_gain=common_gain)
        moved.append(choices.parameters)
    assert np.allclose(moved[1], moved[0] + 7.0 * moved[0].mean(axis=0))


def test_on_eight_devices_the_groups_of_a_chain_agree_sooner_with_a_common_gain() -> None:
    """Each group should be where its neighbour is; which device that is makes no difference at the start."""
    cut = {}
    for common_gain in (0.0, 10.0):
        rng, choices = np.random.default_rng(0), IndependentChoices(np.ones((64, 8), dtype=bool))
        for _ in range(60):
            placements = choices.sample(20, rng)
            cuts = (placements[:, 1:] != placements[:, :-1]).mean(axis=1)
            advantages = (cuts.mean() - cuts) / max(cuts.std(), 1e-9)
            choices.ascend(placements, advantages, steps=10, learning_rate=1.0, kl_aim=0.06, common_gain=common_gain)
        cut[common_gain] = cuts.mean()
    assert cut[10.0] < 0.5 * cut[0.0]


def test_the_penalty_pulls_back_to_the_old_choices() -> None:
    placements, advantages = np.array([[0], [1]], dtype=np.int32), np.array([1.0, -1.0])
    moved = []
    for weight in (0.1, 1.0, 10.0):
        choices = IndependentChoices(np.ones((1, 2), dtype=bool))
        choices.kl_weight = weight
        moved.append(choices.ascend(placements, advantages, steps=50, learning_rate=0.1, kl_aim=1e-3))
    assert moved[0] > moved[1] > moved[2] > 0


@pytest.mark.parametrize(("aim", "expected"), [(1e-9, 2.0), (1e3, 0.5)])
def test_the_weight_of_the_penalty_is_doubled_or_halved(aim: float, expected: float) -> None:
    choices = IndependentChoices(np.ones((1, 2), dtype=bool))
    choices.ascend(np.array([[0], [1]], dtype=np.int32), np.array([1.0, -1.0]), steps=5, learning_rate=0.1, kl_aim=aim)
    assert choices.kl_weight == expected
    assert WEIGHT_RANGE[0] < expected < WEIGHT_RANGE[1]


def test_an_update_does_not_run_away_from_the_old_choices_under_a_heavy_penalty() -> None:
    rng = np.random.default_rng(3)
    choices = IndependentChoices(np.ones((6, 8), dtype=bool))
    choices.kl_weight = WEIGHT_RANGE[1]
    placements = choices.sample(10, rng)
    assert choices.ascend(placements, rng.normal(0, 1, 10), steps=10, learning_rate=1.0, kl_aim=0.03) < 1e-6


@pytest.mark.parametrize("devices", [2, 4, 8])
def test_the_divergence_of_the_updates_stays_near_its_aim(devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    divergences = []
    ascend = IndependentChoices.ascend

    def noted(self: IndependentChoices, *args: Any, **settings: Any) -> float:
        divergences.append(ascend(self, *args, **settings))
        return divergences[-1]

    monkeypatch.setattr(IndependentChoices, "ascend", noted)
    problem = small_problem(5, ops=40, devices=devices, evaluations=2400, cpu=False)
    make_placer("post", {"kl_aim": 0.005}).place(problem, np.random.default_rng(0), lambda: False)
    assert np.isfinite(divergences).all()
    assert 0.005 / 3 <= np.median(divergences) <= 0.005 * 3


def test_divergence_of_a_distribution_from_itself_is_nothing() -> None:
    old = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    assert mean_divergence(old, old) == 0.0
    assert mean_divergence(old, np.array([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0]])) == pytest.approx(
        (0.5 * np.log(2) + 0.5 * np.log(2 / 3)) / 2
    )


def test_post_separates_two_chains() -> None:
    """Nine times out of ten: independent choices cannot leave a chain that is cut in two, wherever they begin."""
    solved = 0
    for seed in range(10):
        problem = two_chains(length=3, evaluations=1000)
        make_placer("post", {}).place(problem, np.random.default_rng(seed), lambda: False)
        placement = problem.ledger.answer()
        solved += len(set(placement[::2])) == len(set(placement[1::2])) == 1 and placement[0] != placement[1]
    assert solved >= 9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ppo_samples": 1}, "post ppo_samples: 1; allowed: an integer from 2 to 100000"),
        ({"ppo_samples": 2.5}, "post ppo_samples: 2.5; allowed: an integer from 2 to 100000"),
        ({"best_share": 0}, "post best_share: 0; allowed: a number from 1e-06 to 1"),
        ({"exploration": "much"}, "post exploration: 'much'; allowed: a number from 1e-09 to 1"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, int | float | str], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_placer("post", dict(settings))
    assert str(caught.value) == message


@pytest.mark.filterwarnings("error")
def test_a_device_that_was_given_up_is_infinitely_far() -> None:
    assert mean_divergence(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])) == np.inf


def test_the_divergence_from_a_device_that_is_all_but_given_up_does_not_overflow() -> None:
    with np.errstate(over="raise"):
        divergence = mean_divergence(np.array([[0.5, 0.5]]), np.array([[1.0, 5e-324]]))
    assert divergence == pytest.approx(np.log(0.5) - 0.5 * np.log(5e-324))
