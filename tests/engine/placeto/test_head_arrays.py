"""The shared head without torch says what the network says, and a kept policy gives a run's own decisions."""

import numpy as np
import pytest
import torch

from engine.clusters.cluster import NO_DEVICE
from engine.events import Episode, LearnedPolicy
from engine.explaining.decisions import decisions_of, obstacle
from engine.placers.registry import make_placer
from engine.placeto.episodes import make_episode_plan
from engine.placeto.kept_policy import KeptPolicy
from engine.placeto.networks.head_arrays import HeadWeights, probabilities_of_episode
from engine.placeto.networks.sampling import replay_episodes
from engine.placeto.networks.shared_head_actor import SharedHeadActor, fresh_network
from engine.placeto.networks.weights import weights_of
from engine.placeto.seeing.features import fastest_device_placement, group_graph
from engine.placeto.seeing.reachability import relatives
from engine.placeto.seeing.start_times import GroupStartTimes
from engine.placeto.seeing.view_graph import device_view_graph
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.problem import PlacementProblem
from tests.engine.placeto.problems import random_problem


def never() -> None:
    return None


@pytest.mark.parametrize("rounds", [0, 2])
@pytest.mark.parametrize("start", ["best", "nowhere"])
@pytest.mark.parametrize(("most_reachable_groups", "prior"), [(0, "published"), (1024, "best_trivial")])
def test_probabilities_equal_those_of_the_network(
    rounds: int, start: str, most_reachable_groups: int, prior: str
) -> None:
    settings = make_settings(
        {
            "message_rounds": rounds,
            "start": start,
            "passes": 2,
            "traversal": "random",
            "batch_episodes": 3,
            "most_reachable_groups": most_reachable_groups,
            "prior": prior,
        }
    )
    problem = random_problem(5, groups=23, devices=3, cpu=True)
    graph, rng = group_graph(problem, prior), np.random.default_rng(4)
    network = fresh_network(settings, rng, torch.device("cpu"))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.from_numpy(rng.standard_normal(tuple(parameter.shape)).astype(np.float32)))
    actor = SharedHeadActor(settings, graph, network, torch.device("cpu"))
    plan = make_episode_plan(settings, graph, fastest_device_placement(graph), greedy=False, rng=rng)
    episodes = actor.sample(plan, never)
    expected = []
    for part in actor.score(episodes, never):
        expected.append(part.log_probabilities.detach().exp().numpy())
        part.log_probabilities.sum().backward()  # type: ignore[no-untyped-call]  # torch's own
    related = relatives(
        graph.edge_source, graph.edge_target, graph.group_count, most_reachable_groups=most_reachable_groups
    )
    compiled = device_view_graph(graph, related)
    views = replay_episodes(compiled, plan.starts, plan.orders, episodes.actions)
    head = HeadWeights(weights_of(network), settings.message_rounds).head_arrays(graph)
    found = [
        probabilities_of_episode(
            compiled, head, plan.starts[each], plan.orders[each], episodes.actions[each], views[each], plan.explore
        )
        for each in range(plan.batch)
    ]
    np.testing.assert_allclose(np.array(found), np.concatenate(expected), atol=2e-5)
    assert np.std(found) > 0.1, "the network is not indifferent"


def trained(settings: dict[str, object], evaluations: int = 200) -> tuple[PlacementProblem, list[Episode], KeptPolicy]:
    problem = random_problem(2, evaluations=evaluations)
    heard: list[object] = []
    problem = problem.reporting_to(heard.append)
    placer = make_placer("placeto", {"torch_device": "cpu", **settings})  # type: ignore[dict-item]  # JSON
    placer.place(problem, np.random.default_rng(3), lambda: False)
    [kept] = [item.policy for item in heard if isinstance(item, LearnedPolicy)]
    return problem, [item for item in heard if isinstance(item, Episode)], KeptPolicy.from_bytes(kept)


def test_of_the_best_episode_the_decisions_are_those_that_were_made() -> None:
    problem, episodes, kept = trained({"traversal": "random", "passes": 2})
    best = min(episodes, key=lambda episode: episode.step_time_us)
    assert kept.best is not None and kept.best.number == best.episode
    placement = np.array(best.placement, np.int32)
    found = decisions_of(
        kept, group_graph(problem), best.episode, placement, lambda: None, GroupStartTimes(problem.simulator)
    )
    assert found.is_exact
    end = found.start.copy()
    end[found.order] = found.chosen
    assert end.tolist() == best.placement
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)
    chosen = found.probabilities[np.arange(len(found.order)), found.chosen]
    assert chosen.min() > 0.0 and chosen.mean() > 1.5 / problem.device_count


def test_of_another_episode_they_are_those_of_the_last_weights_from_the_best_before() -> None:
    problem, episodes, kept = trained({})
    assert kept.best is not None
    other = next(episode for episode in episodes if episode.episode != kept.best.number)
    before = np.zeros(problem.group_count, np.int32)
    placement = np.array(other.placement, np.int32)
    found = decisions_of(
        kept, group_graph(problem), other.episode, placement, lambda: before, GroupStartTimes(problem.simulator)
    )
    assert not found.is_exact
    assert found.start.tolist() == before.tolist()
    assert found.order.tolist() == list(range(problem.group_count))
    assert found.chosen.tolist() == other.placement


def test_from_nowhere_the_first_group_sees_no_other() -> None:
    problem, episodes, kept = trained({"start": "nowhere"})
    other = next(episode for episode in episodes if kept.best is None or episode.episode != kept.best.number)
    placement = np.array(other.placement, np.int32)
    found = decisions_of(
        kept, group_graph(problem), other.episode, placement, lambda: placement, GroupStartTimes(problem.simulator)
    )
    assert set(found.start.tolist()) == {NO_DEVICE}


@pytest.mark.parametrize("network", ["published", "simple_partitioner", "simple_aggregator"])
def test_the_networks_of_the_paper_give_their_decisions_too(network: str) -> None:
    problem, episodes, kept = trained({"preset": "paper", "network": network})
    graph, start_times = group_graph(problem), GroupStartTimes(problem.simulator)
    for episode in episodes:
        assert obstacle(kept, episode.episode) == ""
        placement = np.array(episode.placement, np.int32)
        found = decisions_of(kept, graph, episode.episode, placement, lambda: None, start_times)
        assert kept.best is not None and found.is_exact == (episode.episode == kept.best.number)
        end = found.start.copy()
        end[found.order] = found.chosen
        assert end.tolist() == episode.placement
        np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("settings", "word"), [({"passes": 2}, "visits"), ({"traversal": "mixed"}, "order"), ({"start": "random"}, "start")]
)
def test_what_is_not_stored_is_said(settings: dict[str, object], word: str) -> None:
    _, episodes, kept = trained(settings)
    assert kept.best is not None and obstacle(kept, kept.best.number) == ""
    other = next(episode.episode for episode in episodes if episode.episode != kept.best.number)
    assert word in obstacle(kept, other) and f"episode {kept.best.number}" in obstacle(kept, other)


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_a_stopped_training_keeps_its_policy_too(preset: str) -> None:
    problem = random_problem(2, evaluations=200)
    heard: list[object] = []
    problem = problem.reporting_to(heard.append)
    placer = make_placer("placeto", {"torch_device": "cpu", "preset": preset})
    placer.place(problem, np.random.default_rng(3), lambda: problem.ledger.used > 20)
    assert problem.ledger.used < 200
    assert sum(isinstance(item, LearnedPolicy) for item in heard) == 1


def test_the_settings_of_a_kept_policy_survive_bytes() -> None:
    settings = PlacetoSettings(hidden_width=7)
    kept = KeptPolicy(settings, {"weight": np.ones((2, 3), np.float32)}, None)
    again = KeptPolicy.from_bytes(kept.to_bytes())
    assert (again.settings, again.best) == (settings, None)
    assert again.weights["weight"].tolist() == [[1.0] * 3] * 2
