"""The published policy: its network reads the whole graph before every decision; a softmax chooses the device.

Source: Addanki et al. 2019, section 2 and appendix, and published code.

This module has the published network and the two simpler ones that the paper compares it with.

All three read the features of all groups and score the devices for the current one. With `m` devices the width is
w = 5 + m:

- published: message passing over the whole graph, then three poolings (parents, children, parallel groups);
- simple partitioner: the three poolings of the features as they are, no message passing;
- simple aggregator: one pooling over all groups, no message passing, no partition.

As in the published code, every message and every pooling is rectified: g(Σ f(x)), where f and g have two layers with a
ReLU after each. Source: Addanki et al. 2019, sections 2 and 4.3; published code.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.errors import SettingsError
from engine.placeto.episodes import EpisodePlan, Episodes
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.networks.actor import Actor, ScoredDecisions
from engine.placeto.networks.choices import choose, index_tensor, log_probabilities, score_equally
from engine.placeto.networks.message_passing import arriving, ending
from engine.placeto.networks.weights import set_weights
from engine.placeto.seeing.features import GroupGraph
from engine.placeto.seeing.reachability import reachability
from engine.placeto.seeing.start_times import GroupStartTimes
from engine.placeto.settings import PlacetoSettings
from engine.settings.learners import BEST_TRIVIAL

FIXED_FEATURES = 5
"""time, output bytes, "is current", "already placed", start time; the one-hot device follows"""


def rectified(width: int) -> nn.Sequential:
    """Two layers as wide as the input, with a ReLU after each."""
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())


class RectifiedRounds(nn.Module):
    """Rounds of x_v ← h_v + g(Σ_{u before v} f(x_u)), beginning with x = h; x_v stays h_v where no edge ends at v."""

    def __init__(self, width: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.message_network = rectified(width)
        self.update_network = rectified(width)

    def forward(self, own: Tensor, edges: Tensor) -> Tensor:
        """[groups, rows, width] from `own` of that shape; `edges` [2, edges] lead from row 0 to row 1."""
        mask = ending(edges[1], len(own), own.dtype)[:, None, None]
        state = own
        for _ in range(self.rounds):
            gathered = arriving(self.message_network(state), edges, "sum")
            state = own + mask * self.update_network(gathered)
        return state


class BothWays(nn.Module):
    """Rounds in both directions from one transformation h of the features: [groups, rows, w] → [groups, rows, 2 w]."""

    def __init__(self, width: int, rounds: int) -> None:
        super().__init__()
        self.own = nn.Sequential(
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, width),
        )
        self.top_down = RectifiedRounds(width, rounds)
        self.bottom_up = RectifiedRounds(width, rounds)

    def forward(self, features: Tensor, edges: Tensor) -> Tensor:
        """`edges` [2, edges] lead from producer to consumer."""
        own = self.own(features)
        return torch.cat([self.top_down(own, edges), self.bottom_up(own, edges.flip(0))], dim=-1)


class PooledSets(nn.Module):
    """Poolings h_i(Σ_{u ∈ S_i} l_i(x_u)) of some sets of groups, each with its own parameters, concatenated."""

    def __init__(self, width: int, sets: int) -> None:
        super().__init__()
        self.inner = nn.ModuleList(rectified(width) for _ in range(sets))
        self.outer = nn.ModuleList(rectified(width) for _ in range(sets))

    def forward(self, embedded: Tensor, sets: Sequence[Tensor]) -> Tensor:
        """[rows, sets · width] from `embedded` [groups, rows, width] and `sets`, each [groups, rows] of 0 and 1."""
        pooled = [
            outer((inner(embedded) * members[:, :, None]).sum(dim=0))
            for inner, outer, members in zip(self.inner, self.outer, sets, strict=True)
        ]
        return torch.cat(pooled, dim=-1)


class PublishedNetwork(nn.Module):
    """The published network: message passing, three poolings and a classifier."""

    def __init__(self, devices: int, rounds: int) -> None:
        super().__init__()
        width = FIXED_FEATURES + devices
        self.rounds = BothWays(width, rounds)
        self.pool = PooledSets(2 * width, 3)
        self.classifier = classifier(8 * width, devices)

    def forward(self, features: Tensor, edges: Tensor, current: Tensor, sets: Tensor) -> Tensor:
        """[rows, devices] from `features` [groups, rows, width], `current` [rows] and `sets` [3, groups, rows]."""
        embedded = self.rounds(features, edges)
        scores: Tensor = self.classifier(torch.cat([own_row(embedded, current), self.pool(embedded, sets)], dim=-1))
        return scores


class SimplePartitioner(nn.Module):
    """The simple partitioner: three poolings of the features and a classifier."""

    def __init__(self, devices: int) -> None:
        super().__init__()
        width = FIXED_FEATURES + devices
        self.pool = PooledSets(width, 3)
        self.classifier = classifier(4 * width, devices)

    def forward(self, features: Tensor, _edges: Tensor, current: Tensor, sets: Tensor) -> Tensor:
        """As `PublishedNetwork.forward`."""
        scores: Tensor = self.classifier(torch.cat([own_row(features, current), self.pool(features, sets)], dim=-1))
        return scores


class SimpleAggregator(nn.Module):
    """The simple aggregator: one pooling over all groups and a classifier; only a feature marks the current group."""

    def __init__(self, devices: int) -> None:
        super().__init__()
        width = FIXED_FEATURES + devices
        self.pool = PooledSets(width, 1)
        self.classifier = classifier(width, devices)

    def forward(self, features: Tensor, _edges: Tensor, _current: Tensor, _sets: Tensor) -> Tensor:
        """As `PublishedNetwork.forward`."""
        everything = torch.ones(features.shape[:2], dtype=features.dtype, device=features.device)
        scores: Tensor = self.classifier(self.pool(features, [everything]))
        return scores


def classifier(width: int, devices: int) -> nn.Sequential:
    """A classifier with hidden ReLU layers of 2 · width and width."""
    return nn.Sequential(
        nn.Linear(width, 2 * width),
        nn.ReLU(),
        nn.Linear(2 * width, width),
        nn.ReLU(),
        nn.Linear(width, devices),
    )


def own_row(embedded: Tensor, current: Tensor) -> Tensor:
    """[rows, width] the part of `embedded` [groups, rows, width] for each row's current group."""
    return embedded[current, torch.arange(len(current), device=current.device)]


def initialise_glorot(network: nn.Module, rng: np.random.Generator, torch_device: torch.device) -> None:
    """Fill a network made on the `meta` device: weights uniform in ±√(6 / (inputs + outputs)), biases 0."""
    network.to_empty(device=torch_device)
    for module in network.modules():
        if isinstance(module, nn.Linear):
            limit = (6.0 / (module.in_features + module.out_features)) ** 0.5
            drawn = rng.uniform(-limit, limit, tuple(module.weight.shape)).astype(np.float32)
            module.weight.data.copy_(torch.from_numpy(drawn))
            module.bias.data.zero_()


MOST_GROUPS = 4096
_NUMBERS_A_PART = 2**18
"""most groups · decisions · width to score at once: bounds the memory of the gradient to some hundred MB"""


@dataclass(frozen=True, slots=True)
class SeenEpisodes(Episodes):
    """Episodes with the start times that the network saw."""

    start_us: NDArray[np.float32]
    """[batch, steps, groups] before each decision; [batch, 0, groups] if the network sees none"""

    def first(self, count: int) -> "SeenEpisodes":
        """The first `count` episodes."""
        kept = Episodes(self.plan, self.actions).first(count)
        return SeenEpisodes(kept.plan, kept.actions, self.start_us[:count])


class DecisionStates(NamedTuple):
    """States before some decisions, as tensors."""

    placements: Tensor
    """[rows, groups]"""
    decided: Tensor
    """[rows, groups] whether the group has been placed in this pass"""
    current: Tensor
    """[rows]"""
    start_us: Tensor | None
    """[rows, groups] when each group starts; None if only the ends of episodes are evaluated"""


class PublishedActor(Actor):
    """The published network, or one of the simpler ones, on one problem."""

    def __init__(
        self,
        settings: PlacetoSettings,
        graph: GroupGraph,
        network: nn.Module,
        torch_device: torch.device,
        start_times: GroupStartTimes | None,
    ) -> None:
        """`network`, of `published_network` on `torch_device`, may be bound to several graphs, which share its weights.

        Without `start_times` that feature is always 0, as published with the terminal reward. Raises SettingsError for
        more than MOST_GROUPS groups.
        """
        groups, devices = graph.group_count, graph.device_count
        if groups > MOST_GROUPS:
            raise SettingsError(
                f"the network {settings.network!r} on {groups} groups",
                where="network",
                allowed=f"at most {MOST_GROUPS} groups; merge groups, or use network=shared_head",
                field="network",
            )
        self.torch_device, self.network = torch_device, network
        self._start_times = start_times
        ends = np.stack([graph.edge_source, graph.edge_target]).astype(np.int64)
        self._edges = torch.from_numpy(ends).to(torch_device)
        before = torch.from_numpy(reachability(graph.edge_source, graph.edge_target, groups)).to(torch_device)
        apart = ~(before | before.T | torch.eye(groups, dtype=torch.bool, device=torch_device))
        self._sets = torch.stack([before, before.T, apart]).to(torch.float32)
        """[3, groups, groups] whether the row's group is a parent, a child, parallel to the column's"""
        self._time = torch.from_numpy(graph.time_us.astype(np.float32)).to(torch_device)
        self._bytes = torch.from_numpy(graph.output_bytes.astype(np.float32)).to(torch_device)
        self._allowed = torch.from_numpy(graph.allowed).to(torch_device)
        self._prior_scores = torch.from_numpy(graph.prior_scores).to(torch_device)
        self._rows_a_part = max(1, _NUMBERS_A_PART // (groups * (FIXED_FEATURES + devices)))

    def sample(self, plan: EpisodePlan, raise_if_over: RaiseIfOver) -> SeenEpisodes:
        """Decide the episodes of `plan` step by step, all episodes at once."""
        batch, groups = plan.starts.shape
        starts = _RunningStarts(self._start_times, plan)
        placements = index_tensor(plan.starts, self.torch_device)
        decided = torch.zeros_like(placements, dtype=torch.bool)
        orders = index_tensor(plan.orders, self.torch_device)
        rows = torch.arange(batch, device=self.torch_device)
        actions = np.empty(plan.orders.shape, dtype=np.int32)
        for step in range(plan.steps):
            raise_if_over()
            if step % groups == 0:
                decided = torch.zeros_like(decided)
            current = orders[:, step]
            states = DecisionStates(placements, decided, current, self._start_tensor(starts.before(step)))
            with torch.no_grad():
                scored = self._log_probabilities(states, plan.explore)
            chosen = choose(scored.cpu().numpy().astype(np.float64), plan.uniforms[:, step], plan.greedy[:, step])
            actions[:, step] = chosen
            starts.move(plan.orders[:, step], chosen)
            placements[rows, current] = index_tensor(chosen, self.torch_device)
            decided[rows, current] = True
        return SeenEpisodes(plan, actions, starts.seen)

    def score(
        self,
        episodes: Episodes,
        raise_if_over: RaiseIfOver,
        *,
        drawn_alone: bool = False,  # noqa: ARG002  # it scores all
    ) -> Iterator[ScoredDecisions]:
        """Score the decisions in parts of some steps of all episodes, small enough for the gradient's memory."""
        assert isinstance(episodes, SeenEpisodes), "episodes of another policy"
        batch = episodes.plan.batch
        steps_a_part = max(1, self._rows_a_part // batch)
        placements = episodes.plan.starts.copy()
        for first in range(0, episodes.plan.steps, steps_a_part):
            raise_if_over()
            steps = slice(first, min(first + steps_a_part, episodes.plan.steps))
            states = self.states(episodes, placements, steps)
            scored = self._log_probabilities(states, episodes.plan.explore)
            by_step = scored.reshape(steps.stop - first, batch, -1).transpose(0, 1)
            yield ScoredDecisions(by_step, slice(0, batch), steps)

    def forget(self) -> None:
        """Nothing: a batch leaves nothing behind."""

    def states(self, episodes: SeenEpisodes, placements: NDArray[np.int32], steps: slice) -> DecisionStates:
        """The states before each of `steps`: all episodes of one step, then of the next.

        `placements` [batch, groups] are those before the first step; they are updated to those after the last.
        """
        groups = placements.shape[1]
        orders, batch = episodes.plan.orders, len(placements)
        rows = np.arange(batch)
        seen = np.empty((steps.stop - steps.start, batch, groups), dtype=np.int32)
        decided = np.zeros((steps.stop - steps.start, batch, groups), dtype=np.bool_)
        for index, step in enumerate(range(steps.start, steps.stop)):
            seen[index] = placements
            pass_start = step - step % groups
            decided[index, rows[:, None], orders[:, pass_start:step]] = True
            placements[rows, orders[:, step]] = episodes.actions[:, step]
        return DecisionStates(
            index_tensor(seen.reshape(-1, groups), self.torch_device),
            torch.from_numpy(decided.reshape(-1, groups)).to(self.torch_device),
            index_tensor(orders[:, steps].T.reshape(-1), self.torch_device),
            self._start_tensor(episodes.start_us[:, steps].transpose(1, 0, 2).reshape(-1, groups)),
        )

    def _start_tensor(self, start_us: NDArray[np.float32]) -> Tensor | None:
        return torch.from_numpy(start_us).to(self.torch_device) if self._start_times is not None else None

    def _log_probabilities(self, states: DecisionStates, explore: float) -> Tensor:
        """[rows, devices] log-probabilities of the current group's devices; the lowest number where it may not go."""
        scores = self.network(self.features(states), self._edges, states.current, self._sets[:, :, states.current])
        return log_probabilities(scores + self._prior_scores[states.current], self._allowed[states.current], explore)

    def features(self, states: DecisionStates) -> Tensor:
        """[groups, rows, 5 + devices] features; times and bytes are shares of the greatest in the graph."""
        placements = states.placements.T
        devices = self._time.shape[1]
        groups, rows = placements.shape
        times = self._time.gather(1, placements)
        times = times / times.amax(dim=0, keepdim=True).clamp_min(1e-9)
        sizes = (self._bytes / self._bytes.max().clamp_min(1e-9))[:, None].expand(groups, rows)
        is_current = nn.functional.one_hot(states.current, groups).T.to(times.dtype)
        decided = states.decided.T.to(times.dtype)
        columns = torch.stack([times, sizes, is_current, decided, _starts_from_current(states, times)], dim=-1)
        return torch.cat([columns, nn.functional.one_hot(placements, devices).to(times.dtype)], dim=-1)


class _RunningStarts:
    """Start times along the episodes of a plan; an episode is simulated anew only after a group has moved."""

    def __init__(self, start_times: GroupStartTimes | None, plan: EpisodePlan) -> None:
        self._start_times = start_times
        self._placements = plan.starts.copy()
        self._moved = np.ones(plan.batch, dtype=np.bool_)
        groups = self._placements.shape[1]
        self._latest = np.zeros(self._placements.shape, dtype=np.float32)
        self.seen = np.zeros((plan.batch, plan.steps if start_times is not None else 0, groups), dtype=np.float32)
        """[batch, steps, groups]"""

    def before(self, step: int) -> NDArray[np.float32]:
        """[batch, groups] the start times before the decision of `step`."""
        if self._start_times is not None:
            if self._moved.any():
                self._latest[self._moved] = self._start_times.of(self._placements[self._moved])
            self.seen[:, step] = self._latest
        return self._latest.copy()

    def move(self, groups: NDArray[np.int32], devices: NDArray[np.int32]) -> None:
        """Move each episode's group to its device."""
        rows = np.arange(len(groups))
        self._moved = self._placements[rows, groups] != devices
        self._placements[rows, groups] = devices


def published_network(
    settings: PlacetoSettings,
    devices: int,
    rng: np.random.Generator,
    torch_device: torch.device,
    weights: Mapping[str, NDArray[np.generic]] | None = None,
) -> nn.Module:
    """The one of the three networks that `settings` name, with `weights`, else with fresh ones from `rng`.

    Its shapes depend on the number of `devices` alone. Raises SettingsError if `weights` do not fit.
    """
    with torch.device("meta"):
        network = _network(settings, devices)
    if weights is None:
        initialise_glorot(network, rng, torch_device)
        if settings.prior == BEST_TRIVIAL:
            score_equally(network.classifier[-1])
    else:
        set_weights(network.to_empty(device=torch_device), weights, "the policy")
    return network


def _network(settings: PlacetoSettings, devices: int) -> PublishedNetwork | SimplePartitioner | SimpleAggregator:
    if settings.network == "simple_aggregator":
        return SimpleAggregator(devices)
    if settings.network == "simple_partitioner":
        return SimplePartitioner(devices)
    return PublishedNetwork(devices, settings.message_rounds)


def _starts_from_current(states: DecisionStates, like: Tensor) -> Tensor:
    """[groups, rows] start times minus the current group's, as shares of the greatest difference in the graph."""
    if states.start_us is None:
        return torch.zeros_like(like)
    starts = states.start_us.T
    apart = starts - starts.gather(0, states.current[None, :])
    return apart / apart.abs().amax(dim=0, keepdim=True).clamp_min(1e-9)
