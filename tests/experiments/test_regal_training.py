"""REGAL's policy trained on many graphs: it is kept in a file, and a search on another graph begins with it."""

import numpy as np
import pytest

from engine.errors import SettingsError
from engine.files.tensor_file import pack_tensors
from engine.placers.brkga import GenerationShares, breed
from engine.placers.regal.actor import ProposalActor, adam, trained_network
from engine.placers.regal.placer import Regal
from engine.placers.regal.policy import ProposalPolicy
from engine.placers.regal.proposals import proposals_of
from engine.placers.scorer import Scorer
from engine.problem import Budget
from experiments.regal_training import train_on_family
from tests.engine.placers.small_problems import small_problem
from tests.engine.placeto.problems import two_chains

SETTINGS = Regal(population=10, episode_evaluations=20, width=8, learning_rate=0.05)


def small_policy(seed: int = 0) -> ProposalPolicy:
    problems = [small_problem(each, ops=9, devices=2, cpu=False) for each in (1, 2)]
    return train_on_family(problems, SETTINGS, 4, np.random.default_rng(seed))


def test_the_same_seed_trains_the_same_policy_and_leaves_the_ledgers_alone() -> None:
    assert small_policy().to_bytes() == small_policy().to_bytes() != small_policy(1).to_bytes()
    problem = small_problem(1, devices=2, cpu=False)
    train_on_family([problem], SETTINGS, 1, np.random.default_rng(0))
    assert problem.ledger.used == 0


def test_a_policy_is_kept_in_a_file() -> None:
    policy = small_policy()
    again = ProposalPolicy.from_bytes(policy.to_bytes(), "a file")
    assert (again.devices, again.width, again.message_rounds) == (2, 8, 2)
    assert again.weights.keys() == policy.weights.keys()
    assert all(np.array_equal(again.weights[name], array) for name, array in policy.weights.items())


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        ({"version": 2}, "its version is nothing"),
        ({"regal": 1, "devices": 2, "width": 8, "message_rounds": 2}, "its version is 1"),
        ({"regal": 2, "devices": 2, "width": "8", "message_rounds": 2}, "its width is '8'"),
        ({"regal": 2, "devices": 2, "width": 8, "message_rounds": 10**9}, "its message_rounds is 1000000000"),
    ],
)
def test_other_files_are_refused(texts: dict[str, object], line: str) -> None:
    blob = pack_tensors({"weight": np.zeros(1, np.float32)}, texts)  # type: ignore[arg-type]  # JSON
    with pytest.raises(SettingsError) as caught:
        ProposalPolicy.from_bytes(blob, "a file")
    assert caught.value.what == line


def test_weights_that_do_not_fit_and_another_number_of_devices_are_refused() -> None:
    policy = small_policy()
    with pytest.raises(SettingsError, match="weights"):
        trained_network(ProposalPolicy(policy.weights, 3, policy.width, policy.message_rounds))
    with pytest.raises(SettingsError, match="3 devices"):
        SETTINGS.place_with(policy, small_problem(1, devices=3, cpu=False), np.random.default_rng(0), lambda: False)


def test_a_run_with_it_is_one_search_with_its_most_probable_proposals() -> None:
    policy, budget = small_policy(), Budget(60)
    problem = small_problem(5, ops=9, devices=2, cpu=False).with_budget(budget)
    SETTINGS.place_with(policy, problem, np.random.default_rng(3), lambda: False)
    by_hand = problem.with_budget(budget)
    scorer = Scorer(by_hand, lambda: False)
    network = trained_network(policy)
    choices = ProposalActor(scorer.graph, network, adam(network, 0.1)).most_probable()
    breed(by_hand, scorer, proposals_of(choices), GenerationShares(10, 2, 1), 60, np.random.default_rng(3))
    assert problem.ledger.used == by_hand.ledger.used == 60
    assert problem.ledger.answer().tolist() == by_hand.ledger.answer().tolist()


def test_what_helps_on_the_graphs_of_a_family_helps_on_another() -> None:
    """Two chains want two devices: after training, a newcomer's first draws are no longer uniform."""
    settings = Regal(population=10, episode_evaluations=20, width=8, learning_rate=0.1)
    family = [two_chains(length=length) for length in (3, 4)]
    policy = train_on_family(family, settings, 60, np.random.default_rng(0))
    unseen = two_chains(length=5)
    network = trained_network(policy)
    distributions, _ = ProposalActor(Scorer(unseen, lambda: False).graph, network, adam(network, 0.1)).probabilities()
    assert distributions.max() > 3 / distributions.shape[-1], "it prefers some keys there"
