"""The published network: message passing over the whole graph before every decision, softmax over the devices.

Source: Addanki et al. 2019, sections 3.2 and appendix, and their published code. One feature of that code is left out:
the groups' simulated start times, which the evaluation does not give. So a feature row is 4 + devices wide, not
6 + devices.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.errors import SettingsError
from engine.placeto.episodes import Episodes, Plan
from engine.placeto.evaluation import Check
from engine.placeto.features import GroupGraph
from engine.placeto.message_passing import TwoWayRounds, two_layers
from engine.placeto.policy import Policy, ScoredDecisions, choose, index_tensor, initialise, log_probabilities
from engine.placeto.reachability import reachability
from engine.placeto.settings import PlacetoSettings

FIXED_FEATURES = 4
"""time, output bytes, "is current", "already placed"; the one-hot device follows"""
MOST_GROUPS = 4096
_NUMBERS_A_PART = 2**18
"""groups · decisions · width scored at once: bounds the memory of the gradient to some hundred MB"""


class PooledSets(nn.Module):
    """h_i(Σ_{u ∈ S_i} l_i(x_u)) of the current group's parents, children and parallel groups, concatenated."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.ModuleList(two_layers(width, width) for _ in range(3))
        self.outer = nn.ModuleList(two_layers(width, width) for _ in range(3))

    def forward(self, embedded: Tensor, sets: Tensor) -> Tensor:
        """[rows, 3 · width] from `embedded` [groups, rows, width] and `sets` [3, groups, rows] of 0 and 1."""
        pooled = [
            outer((inner(embedded) * members[:, :, None]).sum(dim=0))
            for inner, outer, members in zip(self.inner, self.outer, sets, strict=True)
        ]
        return torch.cat(pooled, dim=-1)


class PublishedNetwork(nn.Module):
    """Features of all groups and the current group → a score for each device."""

    def __init__(self, devices: int, rounds: int) -> None:
        super().__init__()
        features = FIXED_FEATURES + devices
        self.rounds = TwoWayRounds(features, features, rounds, "sum")
        self.pool = PooledSets(2 * features)
        width = 8 * features
        self.classifier = nn.Sequential(
            nn.Linear(width, 2 * width),
            nn.ReLU(),
            nn.Linear(2 * width, width),
            nn.ReLU(),
            nn.Linear(width, devices),
        )

    def forward(self, features: Tensor, edges: Tensor, current: Tensor, sets: Tensor) -> Tensor:
        """[rows, devices] from `features` [groups, rows, width], `current` [rows] and `sets` [3, groups, rows]."""
        embedded = self.rounds(features, edges)
        own = embedded[current, torch.arange(len(current), device=current.device)]
        scores: Tensor = self.classifier(torch.cat([own, self.pool(embedded, sets)], dim=-1))
        return scores


class States(NamedTuple):
    """States before some decisions, as tensors."""

    placements: Tensor
    """[rows, groups]"""
    decided: Tensor
    """[rows, groups] whether the group has been placed in this pass"""
    current: Tensor
    """[rows]"""


class PublishedPolicy(Policy):
    """The published network on one problem."""

    def __init__(
        self, settings: PlacetoSettings, graph: GroupGraph, rng: np.random.Generator, torch_device: torch.device
    ) -> None:
        groups, devices = graph.group_count, graph.device_count
        if groups > MOST_GROUPS:
            raise SettingsError(
                f"the published network on {groups} groups",
                where="network",
                allowed=f"at most {MOST_GROUPS} groups; merge groups, or use network=shared_head",
                field="network",
            )
        self.torch_device = torch_device
        with torch.device("meta"):
            self.network = PublishedNetwork(devices, settings.message_rounds)
        initialise(self.network, rng, torch_device)
        self._edges = index_tensor(np.stack([graph.edge_source, graph.edge_target]), torch_device)
        before = torch.from_numpy(reachability(graph.edge_source, graph.edge_target, groups)).to(torch_device)
        apart = ~(before | before.T | torch.eye(groups, dtype=torch.bool, device=torch_device))
        self._sets = torch.stack([before, before.T, apart]).to(torch.float32)
        """[3, groups, groups] whether the row's group is a parent, a child, parallel to the column's"""
        self._time = torch.from_numpy(graph.time_us.astype(np.float32)).to(torch_device)
        self._bytes = torch.from_numpy(graph.output_bytes.astype(np.float32)).to(torch_device)
        self._allowed = torch.from_numpy(graph.allowed).to(torch_device)
        self._rows_a_part = max(1, _NUMBERS_A_PART // (groups * (FIXED_FEATURES + devices)))

    def sample(self, plan: Plan, check: Check) -> Episodes:
        """Decide step by step, all episodes of the batch at once."""
        batch, groups = plan.starts.shape
        placements = index_tensor(plan.starts, self.torch_device)
        decided = torch.zeros_like(placements, dtype=torch.bool)
        orders = index_tensor(plan.orders, self.torch_device)
        rows = torch.arange(batch, device=self.torch_device)
        actions = np.empty(plan.orders.shape, dtype=np.int32)
        for step in range(plan.steps):
            check()
            if step % groups == 0:
                decided = torch.zeros_like(decided)
            current = orders[:, step]
            with torch.no_grad():
                scored = self._log_probabilities(States(placements, decided, current), plan.explore)
            chosen = choose(scored.cpu().numpy().astype(np.float64), plan.uniforms[:, step], plan.greedy)
            actions[:, step] = chosen
            placements[rows, current] = index_tensor(chosen, self.torch_device)
            decided[rows, current] = True
        return Episodes(plan, actions)

    def score(self, episodes: Episodes, check: Check) -> Iterator[ScoredDecisions]:
        """Parts of some steps of all episodes, so many that the gradient fits the memory."""
        batch = episodes.plan.batch
        steps_a_part = max(1, self._rows_a_part // batch)
        placements = episodes.plan.starts.copy()
        for first in range(0, episodes.plan.steps, steps_a_part):
            check()
            steps = slice(first, min(first + steps_a_part, episodes.plan.steps))
            states = self.states(episodes, placements, steps)
            scored = self._log_probabilities(states, episodes.plan.explore)
            by_step = scored.reshape(steps.stop - first, batch, -1).transpose(0, 1)
            yield ScoredDecisions(by_step, slice(0, batch), steps)

    def states(self, episodes: Episodes, placements: NDArray[np.int32], steps: slice) -> States:
        """The states before `steps`, step after step all episodes.

        `placements` [batch, groups] are those before the first of them, and are moved on to the end of the last.
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
        return States(
            index_tensor(seen.reshape(-1, groups), self.torch_device),
            torch.from_numpy(decided.reshape(-1, groups)).to(self.torch_device),
            index_tensor(orders[:, steps].T.reshape(-1), self.torch_device),
        )

    def _log_probabilities(self, states: States, explore: float) -> Tensor:
        """[rows, devices] of the current group's devices; the lowest number where it may not go."""
        scores = self.network(self.features(states), self._edges, states.current, self._sets[:, :, states.current])
        return log_probabilities(scores, self._allowed[states.current], explore)

    def features(self, states: States) -> Tensor:
        """[groups, rows, 4 + devices], times and bytes as shares of the greatest in the graph."""
        placements = states.placements.T
        devices = self._time.shape[1]
        groups, rows = placements.shape
        times = self._time.gather(1, placements)
        times = times / times.amax(dim=0, keepdim=True).clamp_min(1e-9)
        sizes = (self._bytes / self._bytes.max().clamp_min(1e-9))[:, None].expand(groups, rows)
        is_current = nn.functional.one_hot(states.current, groups).T
        columns = torch.stack([times, sizes, is_current.to(times.dtype), states.decided.T.to(times.dtype)], dim=-1)
        return torch.cat([columns, nn.functional.one_hot(placements, devices).to(times.dtype)], dim=-1)
