"""Episodes of many graphs in lockstep: at each step one forward pass scores all decisions. Loads torch.

    compiled threads   take the last choices, look, sum the first layer's rows  ─┐ rows, packed without gaps
    torch's device     the head on all rows, then the choices                   ◀┘
    host               the choices alone come back

The graphs stand in the order of their steps, the longest first: those that still have a step are the first ones, so
rows stay packed as graphs end. A decision depends on its own graph's rows alone.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numba.typed import List
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Batch

from engine.placeto.episodes import EpisodePlan
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.networks.choices import scores_overflow
from engine.placeto.networks.lockstep_steps import GraphEpisodes, LockstepRows, begin_together, step_together
from engine.placeto.networks.shared_head import Projections, SharedHead
from engine.placeto.networks.shared_head_actor import SampledEpisodes, SharedHeadActor
from engine.placeto.seeing.device_view import DEVICE_FEATURES

EQUAL_SCORES = 1e-5
"""most difference of the scores of devices that are alike: in a product of matrices, equal rows may be rounded apart"""
Ended = Callable[[int, SampledEpisodes], None]
"""called with a plan's number and its episodes as soon as they have ended"""


def project_together(network: SharedHead, actors: Sequence[SharedHeadActor]) -> Projections:
    """The projections of all groups of the actors' graphs, one graph after the other."""
    return network.project(Batch.from_data_list([actor.data for actor in actors]))


def parts_of(projections: Projections, actors: Sequence[SharedHeadActor]) -> list[Projections]:
    """The projections of each graph: parts of `projections`, without a copy."""
    sizes = [len(actor.view_graph.time) for actor in actors]
    tables = (torch.split(table, sizes) for table in projections)
    return [Projections(*parts) for parts in zip(*tables, strict=True)]


def sample_together(
    network: SharedHead,
    actors: Sequence[SharedHeadActor],
    plans: Sequence[EpisodePlan],
    raise_if_over: RaiseIfOver,
    threads: ThreadPoolExecutor,
    thread_count: int,
    ended: Ended,
) -> None:
    """Decide the episodes of all plans, which have one batch size; `actors` share `network`.

    Raises SettingsError if a score is not finite.
    """
    order = sorted(range(len(plans)), key=lambda number: -plans[number].steps)
    lockstep = Lockstep(network, [actors[number] for number in order], [plans[number] for number in order])
    alive = len(order)
    for step in range(lockstep.steps + 1):
        raise_if_over()
        before, alive = alive, lockstep.alive_at(step)
        edges = lockstep.shares(before, thread_count)
        for share in [threads.submit(lockstep.advance, step, *edge) for edge in edges]:
            share.result()
        for place in range(alive, before):
            ended(order[place], lockstep.episodes_of(place))
        if alive:
            lockstep.choose(step, alive)


class Lockstep:
    """The state of all episodes."""

    def __init__(self, network: SharedHead, actors: Sequence[SharedHeadActor], plans: Sequence[EpisodePlan]) -> None:
        """The plans are in the order of their steps, the longest first."""
        self._network, self._plans, self._device = network, plans, actors[0].torch_device
        self._steps = np.array([plan.steps for plan in plans])
        self._batch = plans[0].batch
        devices = np.array([actor.view_graph.time.shape[1] for actor in actors])
        with torch.no_grad():
            heads = [network.arrays(part) for part in parts_of(project_together(network, actors), actors)]
        self._made = List(
            [_nothing_decided(plan, count, network.hidden) for plan, count in zip(plans, devices, strict=True)]
        )
        self._graphs, self._heads = List([actor.view_graph for actor in actors]), List(heads)
        starts = List([np.ascontiguousarray(plan.starts) for plan in plans])
        self._states = begin_together(self._graphs, self._heads, self._made, starts)
        self._first_row = np.concatenate([[0], np.cumsum(devices * self._batch)])
        self._rows = _empty_rows(int(self._first_row[-1]), network.hidden, is_pinned=self._device.type != "cpu")
        self._arrays = LockstepRows(*(tensor.numpy() for tensor in self._rows))
        self._chosen = np.zeros(self._batch * len(plans), np.int32)
        self._layout = _RowLayout.of(np.repeat(devices, self._batch), self._device)
        self._draws = _Draws.of(plans, self._device)
        self._is_finite = torch.ones((), dtype=torch.bool, device=self._device)

    @property
    def steps(self) -> int:
        """Of the longest episode."""
        return int(self._steps[0])

    def alive_at(self, step: int) -> int:
        """The number of graphs whose episodes have a step `step`."""
        return int((self._steps > step).sum())

    def advance(self, step: int, begin: int, end: int) -> None:
        """Take the last choices for the graphs from `begin` to `end`, and fill their rows for `step`."""
        step_together(
            self._graphs,
            self._heads,
            self._made,
            self._states,
            self._first_row,
            self._chosen,
            step,
            begin,
            end,
            self._arrays,
        )

    def shares(self, alive: int, count: int) -> list[tuple[int, int]]:
        """The first `alive` graphs in `count` parts with about as many rows each."""
        ends = np.searchsorted(self._first_row[: alive + 1], self._first_row[alive] * np.arange(count + 1) / count)
        return [(int(begin), int(end)) for begin, end in pairwise(ends) if begin < end]

    def choose(self, step: int, alive: int) -> None:
        """Score the rows of the first `alive` graphs, and choose a device for each decision."""
        rows, decisions = int(self._first_row[alive]), self._batch * alive
        with torch.no_grad():
            views, sums, priors = (tensor[:rows].to(self._device, non_blocking=True) for tensor in self._rows)
            scores = self._layout.scores(self._network, views, sums, priors, decisions)
            self._is_finite &= (torch.isfinite(scores) | torch.isneginf(priors)).all()
            chosen = choices(self._layout.padded(scores, decisions), *self._draws.at(step, decisions))
            self._chosen[:decisions] = chosen.cpu().numpy()

    def episodes_of(self, place: int) -> SampledEpisodes:
        """The episodes of one graph, which have ended. Raises SettingsError if a score was not finite."""
        if not self._is_finite:
            raise scores_overflow()
        made = self._made[place]
        return SampledEpisodes(self._plans[place], made.actions, made.views)


@dataclass(frozen=True, slots=True)
class _RowLayout:
    """Where the rows of a step belong; a part of the first graphs has the first of everything."""

    decision: Tensor
    """[rows] its decision"""
    slot: Tensor
    """[rows] its place in [decisions · most devices]"""
    devices: Tensor
    """[decisions, 1] number of devices"""
    most_devices: int

    @staticmethod
    def of(devices: NDArray[np.int64], torch_device: torch.device) -> "_RowLayout":
        """The layout of decisions with so many `devices` [decisions]."""
        decision = np.repeat(np.arange(len(devices)), devices)
        within = np.arange(len(decision)) - np.repeat(np.cumsum(devices) - devices, devices)
        most = int(devices.max())
        return _RowLayout(
            torch.from_numpy(decision).to(torch_device),
            torch.from_numpy(decision * most + within).to(torch_device),
            torch.from_numpy(devices[:, None].astype(np.float32)).to(torch_device),
            most,
        )

    def scores(self, network: SharedHead, views: Tensor, sums: Tensor, priors: Tensor, decisions: int) -> Tensor:
        """[rows] the score of each row, −∞ where the group may not go: as `SharedHead.log_probabilities` scores."""
        decision = self.decision[: len(sums)]
        first = torch.relu_(torch.addmm(sums, views, network.view.weight.T))
        sums = first.new_zeros(decisions, first.shape[1]).index_add_(0, decision, first)
        mean = sums / self.devices[:decisions]
        second = torch.relu_(network.second(first).add_(network.together(mean)[decision]))
        scores: Tensor = (network.score(second) + network.view_score(views))[:, 0]
        return scores + priors

    def padded(self, scores: Tensor, decisions: int) -> Tensor:
        """[decisions, most devices] the scores, −∞ where a decision has fewer devices."""
        table = scores.new_full((decisions * self.most_devices,), -torch.inf)
        return table.index_copy_(0, self.slot[: len(scores)], scores).reshape(decisions, self.most_devices)


@dataclass(frozen=True, slots=True)
class _Draws:
    """What the plans say of each decision, [steps, decisions]."""

    uniforms: Tensor
    greedy: Tensor
    explore: Tensor
    """[decisions, 1]"""

    @staticmethod
    def of(plans: Sequence[EpisodePlan], torch_device: torch.device) -> "_Draws":
        batch, shape = plans[0].batch, (plans[0].steps, len(plans) * plans[0].batch)
        uniforms, greedy = np.zeros(shape), np.zeros(shape, np.bool_)
        for number, plan in enumerate(plans):
            own = slice(number * batch, (number + 1) * batch)
            uniforms[: plan.steps, own], greedy[: plan.steps, own] = plan.uniforms.T, plan.greedy.T
        explore = np.repeat([plan.explore for plan in plans], batch)[:, None]
        return _Draws(*(torch.from_numpy(array).to(torch_device) for array in (uniforms, greedy, explore)))

    def at(self, step: int, decisions: int) -> tuple[Tensor, Tensor, Tensor]:
        """Of the first `decisions` at `step`."""
        return self.uniforms[step, :decisions], self.greedy[step, :decisions], self.explore[:decisions]


def choices(scores: Tensor, uniforms: Tensor, greedy: Tensor, explore: Tensor) -> Tensor:
    """[decisions] the devices that `sampling.choose_device` takes, by `scores` [decisions, devices], −∞ for no device.

    `uniforms`, `greedy` are [decisions], `explore` [decisions, 1].
    """
    allowed = ~torch.isneginf(scores)
    alike = ((scores[:, :, None] - scores[:, None, :]).abs() <= EQUAL_SCORES).sum(dim=2)
    probable = scores + alike.log()
    best = (probable >= probable.amax(dim=1, keepdim=True) - EQUAL_SCORES).int().argmax(dim=1)
    share = torch.softmax(scores.double(), dim=1) * (1.0 - explore) + explore * allowed / allowed.sum(1, keepdim=True)
    drawn = (share.cumsum(dim=1) <= uniforms[:, None]).sum(dim=1)
    last = scores.shape[1] - 1 - allowed.flip(1).int().argmax(dim=1)
    return torch.where(greedy, best, torch.minimum(drawn, last)).int()


def _nothing_decided(plan: EpisodePlan, devices: int, hidden: int) -> GraphEpisodes:
    return GraphEpisodes(
        np.ascontiguousarray(plan.orders),
        np.empty(plan.orders.shape, np.int32),
        np.empty((*plan.orders.shape, devices, DEVICE_FEATURES), np.float32),
        np.empty((plan.batch, devices, hidden), np.float32),
    )


def _empty_rows(rows: int, hidden: int, *, is_pinned: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Memory for the rows of a step, which a device other than the CPU reads while others are filled."""
    return (
        torch.empty(rows, DEVICE_FEATURES, pin_memory=is_pinned),
        torch.empty(rows, hidden, pin_memory=is_pinned),
        torch.empty(rows, pin_memory=is_pinned),
    )
