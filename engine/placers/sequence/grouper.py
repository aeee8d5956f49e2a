"""A feed-forward grouper puts the groups into super-groups; a sequence network decides a device for each of these.

The number of super-groups is learned: the grouper may leave some empty. To respect pins, each set of allowed devices
gets super-groups of its own, which only groups with that set may join; so the allowed devices of a super-group do not
depend on its members. A set of one device gets one super-group; the other sets share the rest by their size.
Source: Mirhoseini et al. 2018, section 3, and the authors' public code. Deviations: a ReLU between the grouper's two
layers, without which they would be one; it sees all of a group's neighbours, as the RNN does, where the public code
lists the numbers of ten; types and outputs stand in columns of their own,
where the public code adds them up in the same ones.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.errors import SettingsError
from engine.placers.sequence.model import Sampled, SequenceModel, check_size, draw
from engine.placers.sequence.network import (
    SequenceNetwork,
    drawn,
    group_contents,
    group_embedding,
    initialise,
    of_chosen,
    with_noise,
)
from engine.placers.sequence.settings import HierarchicalSettings
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.networks.choices import log_probabilities, score_equally, torch_device_of
from engine.problem import PlacementProblem
from engine.problem.trivial import best_one_device, scores_for
from engine.settings import learners

MOST_BY_ITSELF = 256
SUPER_GROUPS_A_DEVICE = 20
_LEAST_PROBABILITY = 1e-9
"""below it a probability's logarithm is that of this one, so that 0 has a finite gradient"""
_MOST_SCORES = 2**24
"""most scores at once: batch · groups · super-groups"""


class HierarchicalNetwork(nn.Module):
    """The grouper and the sequence network, which are trained jointly."""

    def __init__(
        self, features: int, contents: int, super_groups: int, devices: int, settings: HierarchicalSettings
    ) -> None:
        super().__init__()
        self.reading = nn.Linear(features, settings.grouper_width, bias=False)
        self.joining = nn.Linear(settings.grouper_width, super_groups, bias=False)
        self.sequence = SequenceNetwork(2 * super_groups + contents, devices, settings)

    def group(self, features: Tensor) -> Tensor:
        """[groups, super-groups] the scores of each group's super-groups."""
        scores: Tensor = self.joining(torch.relu(self.reading(features)))
        return scores


class HierarchicalModel(SequenceModel):
    """The grouper and the sequence network on one problem."""

    def __init__(self, problem: PlacementProblem, settings: HierarchicalSettings, rng: np.random.Generator) -> None:
        check_size(problem.group_count)
        self._settings, self._device = settings, torch_device_of(settings.torch_device)
        wanted = settings.super_groups or min(MOST_BY_ITSELF, SUPER_GROUPS_A_DEVICE * problem.device_count)
        may_join, allowed = dealt_out(problem.allowed, wanted)
        shared = settings.prior == learners.BEST_TRIVIAL
        prior = scores_for(allowed, best_one_device(problem)) if shared else np.zeros(allowed.shape)
        _check_scores(may_join, settings.batch_episodes)
        seen = group_contents(problem)
        features = group_embedding(seen)
        with torch.device("meta"):
            self._hierarchical = HierarchicalNetwork(
                features.shape[1], seen.contents.shape[1], len(allowed), problem.device_count, settings
            )
        self.network = self._hierarchical
        initialise(self.network, rng, self._device)
        self._hierarchical.joining.weight.data.mul_(settings.grouper_gain)
        if shared:
            score_equally(self._hierarchical.sequence.scores)
        self._features, self._contents, self._adjacency, self._may_join, self._allowed, self._prior_scores = (
            torch.from_numpy(array).to(self._device)
            for array in (features, seen.contents, seen.adjacency, may_join, allowed, prior.astype(np.float32))
        )

    def sample(self, batch: int, noisy: bool, rng: np.random.Generator, raise_if_over: RaiseIfOver) -> Sampled:
        groups, super_groups = self._may_join.shape
        of_groups = draw(batch, groups, super_groups, noisy=noisy, rng=rng, torch_device=self._device)
        of_devices = draw(batch, *self._allowed.shape, noisy=noisy, rng=rng, torch_device=self._device)
        sequence = self._hierarchical.sequence
        with torch.no_grad():
            scored = self._grouping(batch, of_groups.noise)
            joined = drawn(scored.reshape(-1, super_groups), of_groups.uniforms.reshape(-1)).reshape(batch, groups)
            encoded = sequence.encode(self.embedding(joined))
            devices = sequence.sample(
                encoded, self._allowed, of_devices, raise_if_over, prior_scores=self._prior_scores
            )
        placements = devices.gather(1, joined).cpu().numpy().astype(np.int32)
        return Sampled(placements, (joined, devices), (of_groups.noise, of_devices.noise))

    def log_probability(self, sampled: Sampled) -> tuple[Tensor, Tensor]:
        """([batch] log p(super-groups) + log p(devices), [] mean entropy a group).

        The entropy is that of a group's device when the devices of all super-groups are drawn, plus that of these
        devices, shared by all groups. To join another super-group of the same device changes nothing and does not
        count, nor does the device of an empty super-group.
        """
        joined, devices = sampled.choices
        scored = self._grouping(len(joined), sampled.noises[0])
        of_groups, _ = of_chosen(scored, joined)
        encoded = self._hierarchical.sequence.encode(self.embedding(joined))
        of_devices, entropy_of_devices = self._hierarchical.sequence.log_probability(
            encoded, self._allowed, sampled.noises[1], devices, self._prior_scores
        )
        device_of_group = scored.exp() @ nn.functional.one_hot(devices, self._allowed.shape[1]).to(scored.dtype)
        occupied = torch.zeros_like(entropy_of_devices).scatter_(1, joined, 1.0)
        shared = (entropy_of_devices * occupied).sum(dim=1).mean() / joined.shape[1]
        own = -(device_of_group * device_of_group.clamp_min(_LEAST_PROBABILITY).log()).sum(dim=-1).mean()
        return of_groups + of_devices, own + shared

    def embedding(self, joined: Tensor) -> Tensor:
        """[batch, super-groups, features] of the super-groups that `joined` [batch, groups] makes.

        The features are the numbers of edges to and from each super-group, then the members' sums of op-type counts
        and output sizes; each row is divided by its greatest number plus 1.
        """
        members = nn.functional.one_hot(joined, self._may_join.shape[1]).to(torch.float32).transpose(1, 2)
        edges = members @ self._adjacency @ members.transpose(1, 2)
        rows = torch.cat([edges, edges.transpose(1, 2), members @ self._contents], dim=-1)
        return rows / (rows.amax(dim=-1, keepdim=True) + 1.0)

    def _grouping(self, batch: int, noise: Tensor | None) -> Tensor:
        """[batch, groups, super-groups] log-probabilities; the episodes differ only in their noise."""
        scores = self._hierarchical.group(self._features)
        expanded = scores.expand(batch, *scores.shape)
        return log_probabilities(with_noise(expanded, noise, self._settings.noise), self._may_join, 0.0)


def dealt_out(allowed: NDArray[np.bool_], wanted: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """([groups, super-groups] whether a group may join one, [super-groups, devices] where each may go).

    There are at most `wanted` super-groups, or one for each set of allowed devices if there are more sets.
    """
    sets, set_of_group, sizes = np.unique(allowed, axis=0, return_inverse=True, return_counts=True)
    free = sets.sum(axis=1) > 1
    counts = np.ones(len(sets), dtype=np.int64)
    rest = max(0, min(wanted, len(allowed)) - len(sets))
    if free.any():
        shares = np.where(free, sizes, 0) * rest / sizes[free].sum()
        counts += shares.astype(np.int64)
        largest = np.argsort(-(shares % 1), kind="stable")
        counts[largest[: rest - int(shares.astype(np.int64).sum())]] += 1
    set_of_super_group = np.repeat(np.arange(len(sets)), counts)
    return set_of_group.reshape(-1)[:, None] == set_of_super_group, sets[set_of_super_group]


def _check_scores(may_join: NDArray[np.bool_], batch: int) -> None:
    if may_join.size * batch > _MOST_SCORES:
        raise SettingsError(
            f"{may_join.shape[0]} groups into {may_join.shape[1]} super-groups, {batch} at once",
            where="super_groups",
            allowed=f"at most {_MOST_SCORES} in product; fewer super_groups or batch_episodes",
            field="super_groups",
        )
