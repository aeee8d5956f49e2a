"""REGAL's proposals and the actor that chooses them; with plain proposals REGAL is BRKGA."""

from typing import Any

import numpy as np
import pytest

from engine.events import Episode, FromPlacer, Progress
from engine.placers.brkga import newcomers, uniform_proposals
from engine.placers.regal.actor import ProposalActor, adam, fresh_network
from engine.placers.regal.placer import Regal, advantage_of
from engine.placers.regal.proposals import DISTRIBUTIONS, ELITE_BIASES, Choices, plain_choices, proposals_of
from engine.placers.registry import make_placer
from engine.placeto.seeing.features import group_graph
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem
from tests.engine.placers.small_problems import clock_of_evaluations, small_problem
from tests.engine.placeto.problems import two_chains


@pytest.mark.parametrize("seconds", [None, 1.0])
def test_half_of_the_budget_is_the_training_s_and_half_the_search_s(
    seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the seconds too: here each evaluation takes a thousandth of them."""
    clock_of_evaluations(monkeypatch, 1000)
    begun: list[int] = []
    search = Regal.search

    def noted(self: Regal, choices: Choices, evaluations: int, problem: PlacementProblem, *rest: Any) -> float:
        begun.append(problem.ledger.used)
        return search(self, choices, evaluations, problem, *rest)

    monkeypatch.setattr(Regal, "search", noted)
    budget = Budget(1000) if seconds is None else Budget(MOST_EVALUATIONS, seconds)
    problem = small_problem(1).with_budget(budget)
    make_placer("regal", {}).place(problem, np.random.default_rng(0), lambda: False)
    assert 440 < begun[-1] < 560 and problem.ledger.used >= 1000


def make_actor(seed: int = 0, learning_rate: float = 0.01) -> ProposalActor:
    graph = group_graph(small_problem(1, devices=2, cpu=False))
    rng = np.random.default_rng(seed)
    network = fresh_network(2, 8, 2, rng)
    return ProposalActor(graph, network, adam(network, learning_rate))


def test_plain_choices_are_exactly_the_plain_algorithms_proposals() -> None:
    made, plain = proposals_of(plain_choices(5, 3)), uniform_proposals(5, 3, 0.7)
    assert np.array_equal(made.alpha, plain.alpha) and np.array_equal(made.beta, plain.beta)
    assert np.array_equal(made.elite_bias, plain.elite_bias)
    drawn = [newcomers(proposals, 50, np.random.default_rng(0)) for proposals in (made, plain)]
    assert np.array_equal(drawn[0], drawn[1])


def test_every_choice_is_another_distribution_and_all_are_balanced() -> None:
    choices = Choices(np.arange(DISTRIBUTIONS)[:, None], np.zeros(DISTRIBUTIONS, dtype=np.int64))
    proposals = proposals_of(choices)
    pairs = np.concatenate([proposals.alpha, proposals.beta], axis=1)
    assert (pairs > 0).all() and len(np.unique(pairs.round(9), axis=0)) == DISTRIBUTIONS
    assert np.isclose((proposals.alpha / (proposals.alpha + proposals.beta)).mean(), 0.5)


def test_the_untrained_policy_chooses_uniformly() -> None:
    distributions, biases = make_actor().probabilities()
    assert np.allclose(distributions, 1 / DISTRIBUTIONS, rtol=0, atol=1e-6)
    assert np.allclose(biases, 1 / len(ELITE_BIASES), rtol=0, atol=1e-6)


def test_samples_come_as_often_as_their_probabilities_say() -> None:
    actor, rng = make_actor(), np.random.default_rng(1)
    samples = [actor.sample(rng) for _ in range(400)]
    distributions = np.bincount(np.concatenate([choices.distributions.ravel() for choices in samples]))
    biases = np.bincount(np.concatenate([choices.biases for choices in samples]))
    assert np.allclose(distributions / distributions.sum(), 1 / DISTRIBUTIONS, atol=0.015)
    assert np.allclose(biases / biases.sum(), 1 / len(ELITE_BIASES), atol=0.03)


def test_what_was_good_becomes_the_most_probable() -> None:
    actor = make_actor()
    choices = actor.sample(np.random.default_rng(2))
    for _ in range(300):
        actor.learn(choices, 1.0)
    most_probable = actor.most_probable()
    assert (most_probable.biases == choices.biases).mean() > 0.5
    assert (most_probable.distributions == choices.distributions).mean() > 0.5


@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_a_good_choice_becomes_likelier_and_a_bad_one_less_likely(advantage: float) -> None:
    actor = make_actor()
    choices = actor.sample(np.random.default_rng(2))

    def logarithm() -> float:
        distributions, biases = actor.probabilities()
        groups, devices = np.indices(choices.distributions.shape)
        chosen = np.log(distributions[groups, devices, choices.distributions]).sum()
        return float(chosen + np.log(biases[np.arange(len(biases)), choices.biases]).sum())

    before = logarithm()
    actor.learn(choices, advantage)
    assert (logarithm() - before) * advantage > 0


def test_the_policy_learns_a_bandit() -> None:
    """Reward is the share of groups with the highest bias: a choice that the untrained actor makes rarely."""
    actor, rng, scores = make_actor(learning_rate=0.05), np.random.default_rng(3), [0.0]
    for _ in range(150):
        choices = actor.sample(rng)
        score = -float((choices.biases == len(ELITE_BIASES) - 1).mean())
        actor.learn(choices, advantage_of(score, scores))
        scores.append(score)
    assert actor.probabilities()[1][:, -1].mean() > 0.8


def test_an_advantage_is_in_deviations_from_the_earlier_mean() -> None:
    assert advantage_of(1.0, [1.0, 1.0]) == 0.0
    assert advantage_of(1.0, [3.0]) == 2.0
    assert advantage_of(3.0, [1.0]) == -2.0


def test_without_training_it_is_brkga() -> None:
    answers = []
    for method, settings in (("brkga", {}), ("regal", {"training_share": 0.0})):
        problem = small_problem(1, ops=20, devices=3, pins=True, evaluations=300)
        rng = np.random.default_rng(4)
        make_placer(method, settings).place(problem, rng, lambda: False)
        answers.append(problem.ledger.answer())
        assert problem.ledger.used == 300
    assert np.array_equal(answers[0], answers[1])


def test_a_budget_too_small_to_train_is_reported() -> None:
    heard: list[FromPlacer] = []
    problem = small_problem(1, evaluations=239)
    problem = problem.reporting_to(heard.append)
    make_placer("regal", {}).place(problem, np.random.default_rng(0), lambda: False)
    reported = [event.stage for event in heard if isinstance(event, Progress)]
    assert reported == ["regal: the budget is too small to train a policy; plain proposals"]


def test_regal_separates_two_chains_after_training() -> None:
    placements = []
    for _ in range(2):
        problem = two_chains(length=3, evaluations=1000)
        heard: list[FromPlacer] = []
        rng = np.random.default_rng(0)
        problem = problem.reporting_to(heard.append)
        make_placer("regal", {}).place(problem, rng, lambda: False)
        assert not any(isinstance(event, Progress) for event in heard)
        assert problem.ledger.used == 1000
        placement = problem.ledger.answer()
        assert len(set(placement[::2])) == len(set(placement[1::2])) == 1 and placement[0] != placement[1]
        placements.append([event.placement for event in heard if isinstance(event, Episode)])
    assert placements[0] == placements[1]
