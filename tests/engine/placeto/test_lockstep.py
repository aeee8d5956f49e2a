"""Episodes in lockstep are those that each graph has alone, whatever is beside it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.errors import SettingsError
from engine.placeto.episodes import EpisodePlan, make_episode_plan
from engine.placeto.networks.lockstep import choices, parts_of, project_together, sample_together
from engine.placeto.networks.sampling import choose_device
from engine.placeto.networks.shared_head import SharedHead
from engine.placeto.networks.shared_head_actor import SampledEpisodes, SharedHeadActor, fresh_network
from engine.placeto.seeing.features import group_graph
from engine.placeto.settings import make_settings
from tests.engine.placers.small_problems import small_problem

SETTINGS = make_settings(
    {"embedding_width": 4, "hidden_width": 8, "torch_device": "cpu", "start": "nowhere", "batch_episodes": 5}
)
SIZES = ((6, 2, False), (17, 3, True), (9, 5, False), (17, 2, True))
"""ops, devices, and whether there is a CPU, where not everything may go"""


def network() -> SharedHead:
    made = fresh_network(SETTINGS, np.random.default_rng(3), torch.device("cpu"))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(len(parameter))))
    return made


def bound(head: SharedHead) -> list[tuple[SharedHeadActor, EpisodePlan]]:
    """Actors on graphs of several sizes, with plans: some steps are greedy, the second explores."""
    made = []
    for number, (ops, devices, cpu) in enumerate(SIZES):
        graph = group_graph(small_problem(number, ops=ops, devices=devices, cpu=cpu))
        rng = np.random.default_rng(number)
        settings = replace(SETTINGS, traversal="random_topological", passes=2 if number == 2 else 1)
        plan = make_episode_plan(settings, graph, np.zeros(0, np.int32), True, rng)
        plan = replace(plan, greedy=plan.greedy | (rng.random(plan.greedy.shape) < 0.3), explore=0.1 * (number == 1))
        made.append((SharedHeadActor(settings, graph, head, torch.device("cpu")), plan))
    return made


def together(head: SharedHead, pairs: list[tuple[SharedHeadActor, EpisodePlan]], count: int) -> list[SampledEpisodes]:
    found: dict[int, SampledEpisodes] = {}
    actors, plans = zip(*pairs, strict=True)
    with ThreadPoolExecutor(count) as threads:
        sample_together(head, actors, plans, lambda: None, threads, count, found.__setitem__)
    return [found[number] for number in range(len(pairs))]


@pytest.mark.parametrize("threads", [1, 3])
def test_decisions_in_lockstep_are_those_of_each_graph_alone(threads: int) -> None:
    head = network()
    pairs = bound(head)
    for (actor, plan), episodes in zip(pairs, together(head, pairs, threads), strict=True):
        alone = actor.sample(plan, lambda: None)
        np.testing.assert_array_equal(episodes.actions, alone.actions)
        np.testing.assert_allclose(episodes.views, alone.views, rtol=1e-6, atol=1e-6)
        assert episodes.plan is plan


def test_what_is_beside_a_graph_changes_nothing() -> None:
    head = network()
    pairs = bound(head)
    all_of_them = together(head, pairs, 2)
    for number in range(len(pairs)):
        [alone] = together(head, pairs[number : number + 1], 1)
        np.testing.assert_array_equal(alone.actions, all_of_them[number].actions)
    whole = project_together(head, [actor for actor, _ in pairs])
    for part, (actor, _) in zip(parts_of(whole, [actor for actor, _ in pairs]), pairs, strict=True):
        for one, other in zip(part, head.project(actor.data), strict=True):
            torch.testing.assert_close(one, other)


def test_a_score_that_is_not_finite_is_refused() -> None:
    head = network()
    pairs = bound(head)
    with torch.no_grad():
        head.score.weight.fill_(torch.nan)
    with pytest.raises(SettingsError, match="not finite"):
        together(head, pairs, 1)


@pytest.mark.parametrize("explore", [0.0, 0.3])
def test_choices_are_those_of_the_compiled_sampler(explore: float) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, (300, 5)).astype(np.float32)
    scores[:60] = np.round(scores[:60])  # equal ones count as one choice
    allowed = rng.random((300, 5)) < 0.7
    allowed[np.arange(300), rng.integers(0, 5, 300)] = True
    uniforms, greedy = rng.random(300), rng.random(300) < 0.4
    masked = torch.from_numpy(np.where(allowed, scores, -np.inf).astype(np.float32))
    found = choices(masked, torch.from_numpy(uniforms), torch.from_numpy(greedy), torch.full((300, 1), explore))
    expected = [choose_device(*row, explore) for row in zip(allowed, scores, uniforms, greedy, strict=True)]
    assert found.tolist() == expected


def test_scores_of_the_drawn_decisions_alone_have_the_same_numbers_and_gradients() -> None:
    head = network()
    actor, plan = bound(head)[1]
    plan = replace(plan, greedy=np.random.default_rng(1).random(plan.greedy.shape) < 0.8)
    episodes, drawn = actor.sample(plan, lambda: None), torch.from_numpy(~plan.greedy)
    found = []
    for drawn_alone in (False, True):
        head.zero_grad()
        [part] = list(_backward(actor, episodes, drawn, drawn_alone=drawn_alone))
        found.append((part[drawn], [parameter.grad for parameter in head.parameters()]))
        assert drawn_alone == bool((part[~drawn] == 0).all())
    torch.testing.assert_close(found[0], found[1])


def _backward(
    actor: SharedHeadActor, episodes: SampledEpisodes, drawn: torch.Tensor, *, drawn_alone: bool
) -> Iterator[torch.Tensor]:
    for part in actor.score(episodes, lambda: None, drawn_alone=drawn_alone):
        part.log_probabilities[drawn][:, 0].sum().backward()  # type: ignore[no-untyped-call]  # torch's own
        yield part.log_probabilities.detach()
