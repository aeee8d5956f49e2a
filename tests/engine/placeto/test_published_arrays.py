"""The published networks without torch say what the networks say."""

import numpy as np
import pytest
import torch

from engine.events import Json
from engine.placeto.episodes import make_episode_plan
from engine.placeto.networks.making import make_actor
from engine.placeto.networks.published_arrays import PublishedArrays
from engine.placeto.networks.weights import weights_of
from engine.placeto.seeing.features import fastest_device_placement, group_graph
from engine.placeto.seeing.start_times import GroupStartTimes, sees_start_times
from engine.placeto.settings import make_settings
from tests.engine.placeto.problems import random_problem


@pytest.mark.parametrize("network", ["published", "simple_partitioner", "simple_aggregator"])
@pytest.mark.parametrize("reward", ["intermediate", "terminal"])
@pytest.mark.parametrize(("numbers_a_part", "prior"), [(1, "published"), (2**20, "best_trivial")])
def test_probabilities_equal_those_of_the_network(
    network: str, reward: str, numbers_a_part: int, prior: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.placeto.networks.published_arrays.NUMBERS_A_PART", numbers_a_part)
    some: dict[str, Json] = {
        "passes": 2,
        "traversal": "random",
        "start": "random",
        "batch_episodes": 3,
        "exploration": 2.0,
        "prior": prior,
    }
    settings = make_settings({"preset": "paper", "network": network, "message_rounds": 3, "reward": reward, **some})
    problem = random_problem(5, groups=23, devices=3, cpu=True)
    graph, rng = group_graph(problem, prior), np.random.default_rng(4)
    start_times = GroupStartTimes(problem.simulator) if sees_start_times(settings) else None
    assert (start_times is None) == (reward == "terminal")
    actor = make_actor(settings, graph, rng, start_times=start_times)
    with torch.no_grad():
        for parameter in actor.network.parameters():
            parameter.add_(0.2 * torch.from_numpy(rng.standard_normal(tuple(parameter.shape)).astype(np.float32)))
    plan = make_episode_plan(settings, graph, fastest_device_placement(graph), greedy=False, rng=rng)
    episodes = actor.sample(plan, lambda: None)
    expected = []
    for part in actor.score(episodes, lambda: None):
        expected.append(part.log_probabilities.detach().exp().numpy())
        part.log_probabilities.sum().backward()  # type: ignore[no-untyped-call]  # torch's own
    arrays = PublishedArrays(weights_of(actor.network), settings, graph)
    found = [
        arrays.probabilities_of_episode(
            plan.starts[each], plan.orders[each], episodes.actions[each], start_times, plan.explore
        )
        for each in range(plan.batch)
    ]
    np.testing.assert_allclose(np.array(found), np.concatenate(expected, axis=1), atol=1e-4)
    assert np.std(found) > 0.1, "the network is not indifferent"
