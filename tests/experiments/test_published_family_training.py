"""One network on many graphs: its batch is the single run's, baselines are each graph's own, a stop changes nothing."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import Episode, Json, PlacerState
from engine.files.tensor_file import under, unpack_tensors
from engine.placeto.learning.rewards import ReturnBaseline
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.placeto.training import PlacetoTraining
from engine.problem import PlacementProblem
from experiments.published.family_training import FamilyTraining
from tests.engine.placeto.problems import random_problem, slower, two_chains

NETWORKS = ("published", "simple_partitioner", "simple_aggregator", "shared_head")


def settings_of(**changes: Json) -> PlacetoSettings:
    quick: dict[str, Json] = {"preset": "paper", "message_rounds": 2, "torch_device": "cpu", "learning_rate": 0.01}
    return make_settings(quick | {"reward_unit": "reference", "entropy_weight": 0.02} | changes)


def training_on(
    problems: Sequence[PlacementProblem], settings: PlacetoSettings, episodes: int = 64, seed: int = 0
) -> FamilyTraining:
    return FamilyTraining(problems, settings, episodes, np.random.default_rng(seed))


def different(first: dict[str, NDArray[np.generic]], second: dict[str, NDArray[np.generic]]) -> list[str]:
    return [name for name in first if not np.array_equal(first[name], second[name])]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("reward", ["intermediate", "terminal"])
def test_a_batch_on_one_graph_is_that_of_a_run_on_it(network: str, reward: str) -> None:
    constant: dict[str, Json] = {"learning_rate_end": 0.01, "entropy_weight_end": 0.02, "checkpoint_seconds": 0.0}
    settings = settings_of(network=network, reward=reward, start="fixed_random", **constant)
    heard: list[object] = []
    problem = random_problem(1)
    problem = problem.reporting_to(heard.append)
    stop_after_a_batch = PlacetoTraining(
        problem, settings, np.random.default_rng(5), lambda: any(isinstance(event, PlacerState) for event in heard)
    )
    stop_after_a_batch.run()
    training = training_on([random_problem(1)], settings, seed=5)
    batch = training.run_batch()
    assert batch.end_us.tolist() == [event.step_time_us for event in heard if isinstance(event, Episode)]
    (state,) = [event.state for event in heard if isinstance(event, PlacerState)]
    assert different(training.weights(), under("weights.", unpack_tensors(state, "state")[0])) == []
    assert (training.episodes, training.updates, training.evaluations) == (8, 1, problem.ledger.used)


def test_a_graph_with_large_returns_does_not_shift_the_baseline_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """In seconds one graph has returns a thousand times the other's; each is compared with its own alone."""
    seen: dict[ReturnBaseline, list[tuple[NDArray[np.float64], NDArray[np.float64]]]] = {}
    advantages = ReturnBaseline.advantages

    def look(self: ReturnBaseline, returns: NDArray[np.float64], *, normalise: bool) -> NDArray[np.float64]:
        found = advantages(self, returns, normalise=normalise)
        seen.setdefault(self, []).append((returns.copy(), found))
        return found

    monkeypatch.setattr(ReturnBaseline, "advantages", look)
    settings = settings_of(reward_unit="second", penalised_cap=1e6, network="simple_aggregator")
    training = training_on([random_problem(1), slower(random_problem(2), 1e3)], settings, 80)
    while not training.is_done:
        training.run_batch()
    largest = sorted(max(np.abs(returns).max() for returns, _ in batches) for batches in seen.values())
    assert len(largest) == 2 and 100 * largest[0] < largest[1]
    for batches in seen.values():
        assert len(batches) > 1
        for count, (returns, found) in enumerate(batches):
            earlier = np.concatenate([each for each, _ in batches[:count]] or [returns])
            assert np.allclose(found, returns - earlier.mean(axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("network", NETWORKS)
def test_going_on_from_a_state_equals_never_having_stopped(network: str) -> None:
    settings = settings_of(network=network, greedy_every_batches=3, traversal="random")
    problems = [random_problem(seed, groups=6 + seed) for seed in (1, 2, 3)]
    never = training_on(problems, settings)
    for _ in range(4):
        never.run_batch()
    again = training_on([random_problem(seed, groups=6 + seed) for seed in (1, 2, 3)], settings, seed=99)
    again.restore(never.state())
    while not never.is_done:
        first, second = never.run_batch(), again.run_batch()
        assert first.graph == second.graph and first.end_us.tolist() == second.end_us.tolist()
    assert again.is_done and never.state() == again.state()


def test_a_state_of_another_training_is_refused() -> None:
    state = training_on([random_problem(1)], settings_of()).state()
    for other in (
        training_on([random_problem(1)], settings_of(), episodes=72),
        training_on([random_problem(1)], settings_of(learning_rate=0.02)),
        training_on([random_problem(1)] * 2, settings_of()),
    ):
        with pytest.raises(SettingsError, match="made with other settings or by another version"):
            other.restore(state)


@pytest.mark.parametrize("network", NETWORKS[:3])
def test_weights_carry_over_to_another_graph(network: str) -> None:
    settings = settings_of(network=network)
    trained = training_on([random_problem(seed, groups=6 + seed) for seed in (1, 2)], settings, 24)
    while not trained.is_done:
        trained.run_batch()
    unseen = random_problem(9, groups=17)
    placements = trained.placements(unseen, np.random.default_rng(0), samples=3)
    assert placements.shape == (4, 17) and unseen.respects(placements).all()
    assert unseen.ledger.used == 0, "nothing was evaluated"
    onward = FamilyTraining([unseen], settings, 16, np.random.default_rng(0), trained.weights())
    assert different(onward.weights(), trained.weights()) == []
    assert np.array_equal(onward.placements(unseen, np.random.default_rng(0), samples=3), placements)
    onward.run_batch()
    assert different(onward.weights(), trained.weights()) != []


def test_a_family_is_learned_and_an_unseen_member_is_placed() -> None:
    """Two chains of several lengths: the greedy pass on another length is better than the start."""
    settings = settings_of(start="fixed_random", learning_rate=5e-3, batch_episodes=8)
    training = training_on([two_chains(length=length) for length in (3, 5)], settings, 320)
    unseen = two_chains(length=4)
    one_device_us = unseen.simulator.evaluate(np.zeros((1, 8), np.int32)).step_time_us[0]
    while not training.is_done:
        training.run_batch()
    greedy = training.placements(unseen, np.random.default_rng(0))
    assert unseen.simulator.evaluate(greedy).step_time_us[0] < 0.85 * one_device_us


def test_every_episode_counts_whatever_it_evaluated() -> None:
    """One group on one device is never moved: hardly an evaluation, but as many episodes and updates as asked."""
    training = training_on([random_problem(1, groups=1, devices=1)], settings_of(), 30)
    batches = 0
    while not training.is_done:
        training.run_batch()
        batches += 1
    assert (batches, training.episodes, training.updates) == (4, 32, 4)
    assert training.evaluations < 80


def test_a_published_network_has_one_number_of_devices() -> None:
    problems = [random_problem(1, devices=2), random_problem(1, devices=3)]
    with pytest.raises(SettingsError) as caught:
        training_on(problems, settings_of())
    assert str(caught.value) == (
        "network: the network 'published' on clusters of 2 and 3 devices; allowed: one number of devices, which "
        "decides its shapes; or network=shared_head"
    )
    training_on(problems, settings_of(network="shared_head")).run_batch()
