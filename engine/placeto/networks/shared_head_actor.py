"""The shared head on one problem: samples in compiled code and scores all decisions in batches for the gradient."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.placeto.episodes import EpisodePlan, Episodes
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.networks.actor import Actor, ScoredDecisions
from engine.placeto.networks.choices import index_tensor, initialise, score_equally, scores_overflow
from engine.placeto.networks.group_sums import Decisions
from engine.placeto.networks.message_passing import data_of
from engine.placeto.networks.sampling import HeadArrays, members_on_devices, replay_episodes, sample_episodes
from engine.placeto.networks.shared_head import Projections, SharedHead
from engine.placeto.networks.weights import set_weights
from engine.placeto.seeing.device_view import BOTH_LATER, HERE, LISTED
from engine.placeto.seeing.features import GroupGraph
from engine.placeto.seeing.listed_devices import SCHEDULES
from engine.placeto.seeing.reachability import relatives
from engine.placeto.seeing.view_graph import device_view_graph
from engine.placeto.settings import PlacetoSettings
from engine.settings.learners import BEST_TRIVIAL

MOST_COUNTED = 0.75
"""share of a batch's decisions that count, up to which those alone are scored for the gradient"""
_NUMBERS_A_PART = 2**23
"""most members, or decisions · devices · hidden width, to sample or score at once: bounds memory to some hundred MB"""


@dataclass(frozen=True, slots=True)
class SampledEpisodes(Episodes):
    """Episodes with the views that the head saw."""

    views: NDArray[np.float32]
    """[batch, steps, devices, DEVICE_FEATURES]"""

    def first(self, count: int) -> "SampledEpisodes":
        """The first `count` episodes."""
        kept = Episodes(self.plan, self.actions).first(count)
        return SampledEpisodes(kept.plan, kept.actions, self.views[:count])


def fresh_network(settings: PlacetoSettings, rng: np.random.Generator, torch_device: torch.device) -> SharedHead:
    """A network of the sizes in `settings` with weights drawn from `rng`."""
    network = network_without_weights(settings)
    initialise(network, rng, torch_device)
    _set_preferences(network, settings)
    if settings.prior == BEST_TRIVIAL:
        score_equally(network.score)
    return network


def trained_network(
    settings: PlacetoSettings, weights: Mapping[str, NDArray[np.generic]], torch_device: torch.device
) -> SharedHead:
    """A network of the sizes in `settings` with `weights`. Raises SettingsError if they do not fit it."""
    network = network_without_weights(settings).to_empty(device=torch_device)
    set_weights(network, weights, "the policy")
    return network


def network_without_weights(settings: PlacetoSettings) -> SharedHead:
    """A network of the sizes in `settings`, without weights, on the `meta` device."""
    with torch.device("meta"):
        return SharedHead(settings.embedding_width, settings.hidden_width, settings.message_rounds)


class SharedHeadActor(Actor):
    """The shared head bound to one problem; its weights fit any graph and cluster.

    With more groups than `most_reachable_groups`, parents and children are the direct neighbours and all other groups
    count as parallel: the full sets grow with the square of the number of groups.
    """

    def __init__(
        self, settings: PlacetoSettings, graph: GroupGraph, network: SharedHead, torch_device: torch.device
    ) -> None:
        """`network`, on `torch_device`, may be bound to several problems, which then share its weights."""
        self.torch_device = torch_device
        self.network: SharedHead = network
        self.data = data_of(graph, torch_device)
        """the group graph as the network reads it"""
        self._allowed = torch.from_numpy(graph.allowed).to(torch_device)
        self._prior_scores = torch.from_numpy(graph.prior_scores).to(torch_device)
        related = relatives(
            graph.edge_source,
            graph.edge_target,
            graph.group_count,
            most_reachable_groups=settings.most_reachable_groups,
        )
        self.view_graph = device_view_graph(graph, related)
        """the group graph as the compiled sampler reads it"""
        members = len(related.parent_index) + len(related.child_index)
        numbers = max(members, graph.group_count * graph.device_count * settings.hidden_width) * settings.passes
        self._episodes_a_part = max(1, _NUMBERS_A_PART // max(1, numbers))
        self._latest: tuple[SampledEpisodes, slice, bool, Decisions] | None = None
        """the last scored part: with one part a batch, every epoch scores the same"""

    def sample(self, plan: EpisodePlan, raise_if_over: RaiseIfOver) -> SampledEpisodes:
        """Decide episode after episode in compiled code. Raises SettingsError if a score is not finite."""
        with torch.no_grad():
            head = self.network.arrays(self.network.project(self.data))
        return self.sample_by(head, plan, raise_if_over)

    def sample_by(self, head: HeadArrays, plan: EpisodePlan, raise_if_over: RaiseIfOver) -> SampledEpisodes:
        """As `sample`, by the network's arrays for this graph."""
        actions, views = [], []
        for first in range(0, plan.batch, self._episodes_a_part):
            raise_if_over()
            part = slice(first, first + self._episodes_a_part)
            decided = sample_episodes(
                self.view_graph,
                head,
                plan.starts[part],
                plan.orders[part],
                plan.uniforms[part],
                plan.greedy[part],
                plan.explore,
            )
            if np.any(decided[0] == NO_DEVICE):
                raise scores_overflow()
            actions.append(decided[0])
            views.append(decided[1])
        return SampledEpisodes(plan, np.concatenate(actions), np.concatenate(views))

    def replay(self, plan: EpisodePlan, actions: NDArray[np.int32]) -> SampledEpisodes:
        """The episodes of `plan` with `actions` [batch, steps] in place of the network's choices."""
        views = replay_episodes(self.view_graph, plan.starts, plan.orders, actions)
        return SampledEpisodes(plan, actions, views)

    def score(
        self, episodes: Episodes, raise_if_over: RaiseIfOver, *, drawn_alone: bool = False
    ) -> Iterator[ScoredDecisions]:
        """Score in parts of whole episodes. The graph is embedded once; its gradient follows after the last part.

        With `drawn_alone` the numbers of greedy decisions are 0 where there are many.
        """
        assert isinstance(episodes, SampledEpisodes), "episodes of another policy"
        projections = self.network.project(self.data)
        leaves = leaves_of(projections)
        yield from self.score_by(leaves, episodes, raise_if_over, drawn_alone=drawn_alone)
        pass_on([projections], [leaves])

    def score_by(
        self, leaves: Projections, episodes: SampledEpisodes, raise_if_over: RaiseIfOver, *, drawn_alone: bool
    ) -> Iterator[ScoredDecisions]:
        """As `score`, by the graph's projections; their gradient stays in `leaves`."""
        for first in range(0, episodes.plan.batch, self._episodes_a_part):
            raise_if_over()
            part = slice(first, min(first + self._episodes_a_part, episodes.plan.batch))
            scored = self.network.log_probabilities(
                leaves, self._decisions(episodes, part, drawn_alone=drawn_alone), episodes.plan.explore
            )
            yield ScoredDecisions(scored, part, slice(0, episodes.plan.steps))

    def forget(self) -> None:
        """Free the last scored episodes, which take some MB for each of the problems that take turns."""
        self._latest = None

    def _decisions(self, episodes: SampledEpisodes, part: slice, *, drawn_alone: bool) -> Decisions:
        key = (part, drawn_alone)
        if self._latest is None or self._latest[0] is not episodes or self._latest[1:3] != key:
            self._latest = (episodes, part, drawn_alone, self._make_decisions(episodes, part, drawn_alone=drawn_alone))
        return self._latest[3]

    def _make_decisions(self, episodes: SampledEpisodes, part: slice, *, drawn_alone: bool) -> Decisions:
        plan, actions = episodes.plan, episodes.actions[part]
        starts, orders = plan.starts[part], plan.orders[part]
        index, offset = members_on_devices(self.view_graph, starts, orders, actions)
        views, counts, counted = episodes.views[part], ~plan.greedy[part], None
        if drawn_alone and counts.mean() < MOST_COUNTED:
            views, counted = views[counts], torch.from_numpy(counts).to(self.torch_device)
        return Decisions(
            starts=index_tensor(starts, self.torch_device),
            orders=index_tensor(orders, self.torch_device),
            actions=index_tensor(actions, self.torch_device),
            before=index_tensor(episodes.before()[part], self.torch_device),
            views=torch.from_numpy(views).to(self.torch_device),
            member_index=torch.from_numpy(index).to(self.torch_device),
            member_offset=torch.from_numpy(offset).to(self.torch_device),
            allowed=self._allowed,
            prior_scores=self._prior_scores,
            counted=counted,
        )


def leaves_of(projections: Projections) -> Projections:
    """`projections` cut off from what they were made of, so that gradients gather there."""
    return Projections(*(tensor.detach().requires_grad_() for tensor in projections))


def pass_on(projections: Sequence[Projections], leaves: Sequence[Projections]) -> None:
    """Pass the gradients that gathered in `leaves` on to what `projections` were made of."""
    tensors = [tensor for each in projections for tensor in each]
    torch.autograd.backward(tensors, [_gradient(leaf) for each in leaves for leaf in each])


def _set_preferences(network: SharedHead, settings: PlacetoSettings) -> None:
    """Set the weights so that the untrained head prefers what `settings` say.

    The deep part of the head is scaled down, so that it matters little before training.
    """
    with torch.no_grad():
        network.view_score.weight.zero_()
        network.view_score.weight[0, BOTH_LATER] = -settings.list_schedule_weight
        network.view_score.weight[0, LISTED : LISTED + SCHEDULES] = settings.schedules_weight
        network.view_score.weight[0, HERE] = settings.stay_weight
        network.score.weight.mul_(0.3)


def _gradient(leaf: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
