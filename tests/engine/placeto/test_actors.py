"""Both policies: decisions fit the scores, and names, order and numbers of groups and devices do not count."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.errors import SettingsError
from engine.events import Json
from engine.placeto.episodes import EpisodePlan, Episodes, random_placements
from engine.placeto.networks import group_sums
from engine.placeto.networks.actor import Actor, ScoredDecisions
from engine.placeto.networks.choices import choose, log_probabilities
from engine.placeto.networks.making import make_actor, start_times_for
from engine.placeto.networks.published import PublishedActor, SeenEpisodes
from engine.placeto.networks.sampling import choose_device
from engine.placeto.networks.shared_head_actor import SampledEpisodes, SharedHeadActor
from engine.placeto.seeing.features import GROUP_FEATURES, group_features, group_graph
from engine.placeto.seeing.start_times import GroupStartTimes
from engine.placeto.settings import make_settings
from engine.problem import PlacementProblem
from tests.engine.placers.small_problems import small_problem
from tests.engine.placeto.problems import another_topological_order, random_problem, renumbered, reordered, slower

BOTH = pytest.mark.parametrize("preset", ["fast", "paper"])
NETWORKS = pytest.mark.parametrize("network", ["shared_head", "published", "simple_partitioner", "simple_aggregator"])


def policy_on(problem: PlacementProblem, preset: str, *, explore_deep: bool = True, **settings: Json) -> Actor:
    """With untrained weights, but loud ones, so that a decision depends on everything."""
    made = make_settings({"preset": preset, "torch_device": "cpu", "stay_weight": 0.0, **settings})
    starts = start_times_for(made, problem)
    policy = make_actor(made, group_graph(problem), np.random.default_rng(0), start_times=starts)
    if explore_deep:
        with torch.no_grad():
            for parameter in policy.network.parameters():
                parameter.mul_(1.5)
    return policy


def plan_on(
    problem: PlacementProblem,
    *,
    batch: int = 4,
    passes: int = 1,
    explore: float = 0.0,
    seed: int = 1,
    nowhere: bool = False,
) -> EpisodePlan:
    rng = np.random.default_rng(seed)
    visits = np.tile(np.arange(problem.group_count, dtype=np.int32), (batch * passes, 1))
    orders = rng.permuted(visits, axis=1).reshape(batch, -1)
    starts = random_placements(problem.allowed, batch, rng)
    if nowhere:
        starts[:] = NO_DEVICE
    return EpisodePlan(starts, orders, rng.random(orders.shape), np.zeros(orders.shape, bool), explore)


def scored(policy: Actor, episodes: Episodes) -> NDArray[np.float64]:
    """[batch, steps, devices] log-probabilities, put together from the parts."""
    devices = None
    for part in policy.score(episodes, lambda: None):
        part.log_probabilities.sum().backward()  # type: ignore[no-untyped-call]  # torch's own
        values = part.log_probabilities.detach().numpy()
        if devices is None:
            whole = np.full((*episodes.actions.shape, values.shape[2]), np.nan)
            devices = values.shape[2]
        whole[part.episodes, part.steps] = values
    assert not np.isnan(whole).any()
    return whole


def chosen_again(policy: Actor, episodes: Episodes) -> NDArray[np.int32]:
    """What chance chooses by the scored probabilities."""
    logarithms, plan = scored(policy, episodes), episodes.plan
    by_step = [choose(logarithms[:, step], plan.uniforms[:, step], plan.greedy[:, step]) for step in range(plan.steps)]
    return np.stack(by_step, axis=1)


@NETWORKS
@pytest.mark.parametrize("explore", [0.0, 0.2, 1.0])
def test_what_is_decided_follows_from_what_is_scored(network: str, explore: float) -> None:
    problem = random_problem(5, groups=14, cpu=True)
    problem.allowed[3] = [False, True, False, True]
    policy = policy_on(problem, "fast" if network == "shared_head" else "paper", network=network)
    episodes = policy.sample(plan_on(problem, passes=2, explore=explore), lambda: None)
    assert np.array_equal(episodes.actions, chosen_again(policy, episodes))


def test_a_start_without_devices_is_scored_as_it_was_decided() -> None:
    problem = random_problem(5, groups=14, cpu=True)
    policy = policy_on(problem, "fast")
    plan = plan_on(problem, passes=2, nowhere=True)
    episodes = policy.sample(plan, lambda: None)
    assert np.array_equal(episodes.actions, chosen_again(policy, episodes))
    assert isinstance(policy, SharedHeadActor) and isinstance(episodes, SampledEpisodes)
    assert np.array_equal(policy.replay(plan, episodes.actions).views, episodes.views)


def test_without_a_start_equal_devices_are_equally_probable_until_one_is_used() -> None:
    policy = policy_on(random_problem(6, groups=10, devices=3), "fast")
    logarithms = scored(policy, policy.sample(plan_on(random_problem(6, groups=10, devices=3), nowhere=True), never))
    assert logarithms[:, 0] == pytest.approx(np.full((4, 3), -np.log(3.0)), abs=1e-6)
    assert (np.ptp(logarithms[:, 1], axis=1) > 1e-3).any()


def test_greedy_takes_equal_devices_together() -> None:
    allowed, none = np.array([True, True, True, True, False]), 0.0
    scores = np.array([1.0, 0.5, 0.5, 0.5, 9.0], np.float32)
    assert choose_device(allowed, scores, none, True, none) == 1  # 3 · e^0.5 > e
    assert choose_device(allowed, np.array([2.0, 0.5, 0.5, 0.5, 9.0], np.float32), none, True, none) == 0
    assert choose_device(allowed, scores, none, False, none) == 0


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_nothing_is_chosen_by_scores_that_are_no_numbers(greedy: bool, score: float) -> None:
    scores = np.array([score, 1.0, 2.0], np.float32)
    assert choose_device(np.array([True, True, False]), scores, 0.5, greedy, 0.0) == NO_DEVICE
    assert choose_device(np.array([False, True, False]), scores, 0.5, greedy, 0.0) == 1
    with pytest.raises(SettingsError, match="the network: its scores are not finite numbers; allowed: smaller weights"):
        choose(np.array([[-0.5, -0.9, -1.2], [np.nan, -1.0, -2.0]]), np.array([0.5, 0.5]), np.array([greedy] * 2))


def never() -> None:
    """Nothing interrupts."""


@BOTH
def test_a_greedy_episode_takes_the_most_probable(preset: str) -> None:
    problem = random_problem(5, groups=14)
    policy = policy_on(problem, preset)
    plan = plan_on(problem)
    plan.greedy[0] = True
    episodes = policy.sample(plan, lambda: None)
    logarithms = scored(policy, episodes)
    assert np.array_equal(episodes.actions[0], logarithms[0].argmax(axis=1))
    assert not np.array_equal(episodes.actions[1:], logarithms[1:].argmax(axis=2))


@BOTH
def test_a_greedy_step_takes_the_most_probable_and_the_others_are_drawn(preset: str) -> None:
    problem = random_problem(5, groups=14)
    policy = policy_on(problem, preset)
    plan = plan_on(problem)
    plan.greedy[:, ::2] = True
    episodes = policy.sample(plan, lambda: None)
    likeliest = scored(policy, episodes).argmax(axis=2)
    assert np.array_equal(episodes.actions[:, ::2], likeliest[:, ::2])
    assert not np.array_equal(episodes.actions[:, 1::2], likeliest[:, 1::2])
    assert np.array_equal(chosen_again(policy, episodes), episodes.actions)


@BOTH
def test_probabilities_are_over_the_allowed_devices_alone(preset: str) -> None:
    problem = random_problem(6, groups=10, cpu=True)
    problem.allowed[2] = [True, False, False, False]
    problem.allowed[7] = [False, True, False, True]
    policy = policy_on(problem, preset)
    episodes = policy.sample(plan_on(problem, batch=20, explore=0.5), lambda: None)
    probabilities = np.exp(scored(policy, episodes))
    assert probabilities.sum(axis=2) == pytest.approx(1.0, abs=1e-5)
    assert (probabilities[~problem.allowed[episodes.plan.orders]] == 0.0).all()
    assert problem.respects(episodes.ends()).all()


@BOTH
def test_scoring_in_parts_gives_the_same_gradient(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gradients = []
    for numbers in (2**22, 2**10):
        monkeypatch.setattr("engine.placeto.networks.published._NUMBERS_A_PART", numbers)
        monkeypatch.setattr("engine.placeto.networks.shared_head_actor._NUMBERS_A_PART", numbers)
        problem = random_problem(5, groups=14)
        policy = policy_on(problem, preset)
        episodes = policy.sample(plan_on(problem), lambda: None)
        parts = 0
        for part in policy.score(episodes, lambda: None):
            part.log_probabilities[..., 0].sum().backward()  # type: ignore[no-untyped-call]  # torch's own
            parts += 1
        assert (parts > 1) == (numbers == 2**10)
        gradients.append({name: parameter.grad for name, parameter in policy.network.named_parameters()})
    for name, whole in gradients[0].items():
        assert whole is not None and whole.abs().sum() > 0, name
        assert torch.allclose(whole, gradients[1][name], rtol=1e-3, atol=1e-4), name  # type: ignore[arg-type]


@NETWORKS
def test_renaming_and_reordering_groups_changes_nothing(network: str) -> None:
    preset = "fast" if network == "shared_head" else "paper"
    problem = random_problem(7, groups=16, devices=2, cpu=True)
    new_of_old = another_topological_order(problem, np.random.default_rng(3))
    assert not np.array_equal(new_of_old, np.arange(16))
    other = reordered(problem, new_of_old)
    plan = plan_on(problem)
    starts = np.empty_like(plan.starts)
    starts[:, new_of_old] = plan.starts
    mapped = EpisodePlan(starts, new_of_old[plan.orders].astype(np.int32), plan.uniforms, plan.greedy, 0.0)
    first, second = policy_on(problem, preset, network=network), policy_on(other, preset, network=network)
    episodes, again = first.sample(plan, lambda: None), second.sample(mapped, lambda: None)
    assert np.array_equal(episodes.actions, again.actions)
    assert scored(first, episodes) == pytest.approx(scored(second, again), abs=1e-4)


@pytest.mark.parametrize("nowhere", [False, True])
@pytest.mark.parametrize("new_of_old", [[2, 0, 1, 3], [1, 2, 0, 3], [0, 1, 2, 3][::-1]])
def test_renumbering_devices_changes_nothing_for_the_shared_head(new_of_old: list[int], *, nowhere: bool) -> None:
    problem = random_problem(8, groups=16, devices=3, cpu=True)
    numbers = np.array(new_of_old)
    other = renumbered(problem, numbers)
    first, second = policy_on(problem, "fast"), policy_on(other, "fast")
    plan = plan_on(problem, nowhere=nowhere)
    episodes = first.sample(plan, lambda: None)
    starts = plan.starts if nowhere else numbers[plan.starts]
    mapped = EpisodePlan(starts.astype(np.int32), plan.orders, plan.uniforms, plan.greedy, 0.0)
    # the same decisions, so that the states are the same; a choice by chance goes by the devices' order
    same = replayed(second, mapped, numbers[episodes.actions].astype(np.int32))
    assert scored(first, episodes) == pytest.approx(scored(second, same)[..., numbers], abs=1e-5)


def replayed(policy: Actor, plan: EpisodePlan, actions: NDArray[np.int32]) -> Episodes:
    """Episodes that take `actions` [batch, steps] whatever the policy thinks of them."""
    uniforms = plan.uniforms.copy()
    for step in range(plan.steps):
        episodes = policy.sample(
            EpisodePlan(plan.starts, plan.orders, uniforms, plan.greedy, plan.explore), lambda: None
        )
        probabilities = np.exp(scored(policy, episodes)[:, step])
        upper = np.cumsum(probabilities, axis=1)
        rows = np.arange(plan.batch)
        taken = actions[:, step]
        uniforms[:, step] = upper[rows, taken] - probabilities[rows, taken] / 2
    assert np.array_equal(episodes.actions[:, :-1], actions[:, :-1])
    return policy.sample(EpisodePlan(plan.starts, plan.orders, uniforms, plan.greedy, plan.explore), lambda: None)


def test_the_shared_head_has_the_same_weights_whatever_the_devices() -> None:
    shapes = [
        {name: tuple(weight.shape) for name, weight in policy_on(problem, "fast").network.state_dict().items()}
        for problem in (random_problem(1, devices=2), random_problem(2, groups=30, devices=5, cpu=True))
    ]
    assert shapes[0] == shapes[1]


def test_untrained_the_shared_head_prefers_what_its_settings_say() -> None:
    problem = random_problem(9, groups=20)
    for weights, moved in (({"stay_weight": 50.0, "list_schedule_weight": 0.0}, False), ({"stay_weight": 0.0}, True)):
        policy = policy_on(problem, "fast", explore_deep=False, **weights)
        episodes = policy.sample(plan_on(problem), lambda: None)
        assert (episodes.ends() != episodes.plan.starts).any() == moved


def test_the_published_network_has_the_published_form() -> None:
    policy = policy_on(random_problem(1, devices=3), "paper")
    shapes = {name: tuple(weight.shape) for name, weight in policy.network.state_dict().items()}
    width = 8 * (5 + 3)
    assert [shapes[f"classifier.{layer}.weight"] for layer in (0, 2, 4)] == [
        (2 * width, width),
        (width, 2 * width),
        (3, width),
    ]
    assert [shapes[f"rounds.own.{layer}.weight"] for layer in (0, 2, 4)] == [(8, 8)] * 3
    assert (
        shapes["rounds.top_down.message_network.0.weight"]
        == (8, 8)
        == shapes["rounds.bottom_up.update_network.2.weight"]
    )
    assert shapes["pool.inner.2.0.weight"] == (16, 16)


@pytest.mark.parametrize("reward", ["intermediate", "terminal"])
def test_the_published_features(reward: str) -> None:
    problem = random_problem(1, groups=3, devices=2)
    policy = policy_on(problem, "paper", reward=reward)
    assert isinstance(policy, PublishedActor)
    graph = group_graph(problem)
    orders = np.array([[1, 0, 2]], np.int32)
    plan = EpisodePlan(np.array([[0, 1, 0]], np.int32), orders, np.zeros((1, 3)), np.zeros((1, 3), bool), 0)
    passed = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]], np.int32)
    start_us = GroupStartTimes(problem.simulator).of(passed)
    episodes = SeenEpisodes(plan, np.array([[0, 1, 1]], np.int32), start_us[None])
    features = policy.features(policy.states(episodes, plan.starts.copy(), slice(0, 3)))
    assert features.shape == (3, 3, 7)
    size = graph.output_bytes / graph.output_bytes.max()
    for row, (decided, current) in enumerate([([0, 0, 0], 1), ([0, 1, 0], 0), ([1, 1, 0], 2)]):
        placement = passed[row]
        time = graph.time_us[np.arange(3), placement]
        start = start_us[row] - start_us[row, current]
        start = start / np.abs(start).max() if reward == "intermediate" else np.zeros(3)
        expected = [
            [time[g] / time.max(), size[g], g == current, decided[g], start[g], placement[g] == 0, placement[g] == 1]
            for g in range(3)
        ]
        assert features[:, row].numpy() == pytest.approx(np.array(expected, dtype=float), abs=1e-6)


def test_the_start_times_seen_are_those_of_the_states() -> None:
    problem = random_problem(2, groups=9)
    policy = policy_on(problem, "paper")
    episodes = policy.sample(plan_on(problem, batch=3, passes=2), lambda: None)
    assert isinstance(episodes, SeenEpisodes)
    for index in range(3):
        expected = GroupStartTimes(problem.simulator).of(episodes.states_of(index)[:-1])
        assert np.array_equal(episodes.start_us[index], expected)
    assert episodes.first(2).start_us.shape == (2, 18, 9)


def test_features_are_free_of_the_unit_of_time() -> None:
    quick = small_problem(4, ops=15, devices=3, latency_us=3.0)
    slow = slower(quick, 1024.0)
    placement = np.arange(15, dtype=np.int32)[None, :] % 4
    step_times_us = [problem.simulator.evaluate(placement).step_time_us[0] for problem in (quick, slow)]
    assert step_times_us[1] == 1024.0 * step_times_us[0]
    features, others = (group_features(group_graph(problem)) for problem in (quick, slow))
    assert features.shape == (15, GROUP_FEATURES) and np.isfinite(features).all()
    assert np.array_equal(features, others)


@pytest.mark.parametrize("seed", range(3))
def test_a_network_that_has_learned_nothing_distinguishes_groups(seed: int) -> None:
    """With the features as they come it was 0.04; trained, it is about 1."""
    policy = policy_on(random_problem(seed, groups=60), "fast", explore_deep=False)
    assert isinstance(policy, SharedHeadActor)
    with torch.no_grad():
        own = policy.network.project(policy.data).own
    assert float(own.std(dim=0).mean()) > 0.08


def test_too_many_groups_for_the_published_network_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placeto.networks.published.MOST_GROUPS", 10)
    with pytest.raises(SettingsError) as caught:
        policy_on(random_problem(1, groups=11), "paper")
    assert str(caught.value) == (
        "network: the network 'published' on 11 groups; "
        "allowed: at most 10 groups; merge groups, or use network=shared_head"
    )


@pytest.mark.parametrize("nowhere", [False, True])
def test_members_and_sums_for_cuda_are_those_of_the_compiled_way(*, nowhere: bool) -> None:
    problem = random_problem(5, groups=12)
    policy = policy_on(problem, "fast")
    assert isinstance(policy, SharedHeadActor)
    episodes = policy.sample(plan_on(problem, nowhere=nowhere), lambda: None)
    made = policy._decisions(episodes, slice(0, episodes.plan.batch), drawn_alone=False)
    assert len(made.member_index) == made.member_offset[-1]  # torch's last bag on CUDA ends with the index itself
    own, more, parallel = (torch.rand(rows, 4) for rows in (12, 24, 12))
    assert torch.allclose(
        group_sums.group_sums(own, more, parallel, made), group_sums._of_torch(own, more, parallel, made), atol=1e-5
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_cuda_is_refused_where_there_is_none() -> None:
    with pytest.raises(SettingsError) as caught:
        policy_on(random_problem(1), "fast", torch_device="cuda")
    assert str(caught.value) == "torch_device: this machine has no CUDA device; allowed: auto, cpu"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@BOTH
def test_cuda_scores_like_the_cpu(preset: str) -> None:
    problem = random_problem(5, groups=40)
    answers = []
    for torch_device in ("cpu", "cuda"):
        policy = policy_on(problem, preset, torch_device=torch_device)
        episodes = policy.sample(plan_on(problem), lambda: None)
        parts = [part.log_probabilities for part in _backward(policy, episodes)]
        answers.append((episodes.actions, torch.cat(parts).detach().cpu(), _gradients(policy)))
    assert (answers[0][0] == answers[1][0]).mean() > 0.99
    assert torch.allclose(answers[0][1], answers[1][1], atol=1e-3)
    assert torch.allclose(answers[0][2], answers[1][2], rtol=1e-2, atol=1e-3)


def _backward(policy: Actor, episodes: Episodes) -> Iterator[ScoredDecisions]:
    for part in policy.score(episodes, lambda: None):
        part.log_probabilities[..., 0].sum().backward()  # type: ignore[no-untyped-call]  # torch's own
        yield part


def _gradients(policy: Actor) -> torch.Tensor:
    return torch.cat([parameter.grad.flatten().cpu() for parameter in policy.network.parameters()])  # type: ignore[union-attr]


def test_exploration_mixes_in_a_uniform_choice_of_the_allowed() -> None:
    scores = torch.tensor([[2.0, 0.0, 5.0]])
    allowed = torch.tensor([[True, True, False]])
    softmax = torch.softmax(scores[:, :2], dim=-1)
    mixed = log_probabilities(scores, allowed, 0.4).exp()
    assert mixed[0].tolist() == pytest.approx([*(0.6 * softmax + 0.4 / 2)[0].tolist(), 0.0], abs=1e-6)


def test_chance_never_chooses_what_has_no_probability() -> None:
    logarithms = np.log(np.array([[0.5, 0.5, 1e-300, 0.0]]).clip(1e-320))
    logarithms[0, 3] = -1e38
    for uniform in (0.0, 0.49, 0.51, 1.0 - 1e-16):
        assert choose(logarithms, np.array([uniform]), np.array([False]))[0] in (0, 1, 2)


def test_the_shared_head_beyond_the_reachable_limit_decides_what_it_scores() -> None:
    problem = random_problem(5, groups=30)
    policy = policy_on(problem, "fast", most_reachable_groups=29)
    assert isinstance(policy, SharedHeadActor)
    episodes = policy.sample(plan_on(problem), lambda: None)
    assert np.array_equal(episodes.actions, chosen_again(policy, episodes))
