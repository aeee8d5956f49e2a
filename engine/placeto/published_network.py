"""The published network, and the two simpler ones that the paper compares it with.

All three see the features of all groups, and score the devices for the current one. `m` devices, width w = 5 + m:

- published: message passing over the whole graph, then three poolings (parents, children, parallel groups);
- simple partitioner: the three poolings of the features as they are, no message passing;
- simple aggregator: one pooling over all groups, no message passing, no partition.

As in the published code, every message and every pooling is rectified: g(Σ f(x)) with f and g of two layers and a ReLU
behind each. Source: Addanki et al. 2019, sections 3.2 and 4.4; published code.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from engine.placeto.message_passing import arriving, ending

FIXED_FEATURES = 5
"""time, output bytes, "is current", "already placed", start time; the one-hot device follows"""


def rectified(width: int) -> nn.Sequential:
    """Two layers as wide as the input, a ReLU behind each."""
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())


class RectifiedRounds(nn.Module):
    """x_v ← h_v + g(Σ_{u before v} f(x_u)) from x = h, over and over; h_v alone where no edge ends at v."""

    def __init__(self, width: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.message_network = rectified(width)
        self.update_network = rectified(width)

    def forward(self, own: Tensor, edges: Tensor) -> Tensor:
        """[groups, rows, width] from `own` of that shape and `edges` [2, edges], from row 0 to row 1."""
        mask = ending(edges[1], len(own), own.dtype)[:, None, None]
        state = own
        for _ in range(self.rounds):
            gathered = arriving(self.message_network(state), edges, "sum")
            state = own + mask * self.update_network(gathered)
        return state


class BothWays(nn.Module):
    """Both directions over one transformation h of the features: [groups, rows, w] → [groups, rows, 2 w]."""

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
        """`edges` [2, edges]: producer, consumer."""
        own = self.own(features)
        return torch.cat([self.top_down(own, edges), self.bottom_up(own, edges.flip(0))], dim=-1)


class PooledSets(nn.Module):
    """h_i(Σ_{u ∈ S_i} l_i(x_u)) of some sets of groups, each with its own parameters, concatenated."""

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
    """Message passing, three poolings, classifier."""

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
    """Three poolings of the features, classifier."""

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
    """One pooling over all groups, classifier; a flag in the features alone says which group is the current one."""

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
    """Hidden ReLU layers of 2 · width and width."""
    return nn.Sequential(
        nn.Linear(width, 2 * width),
        nn.ReLU(),
        nn.Linear(2 * width, width),
        nn.ReLU(),
        nn.Linear(width, devices),
    )


def own_row(embedded: Tensor, current: Tensor) -> Tensor:
    """[rows, width] what `embedded` [groups, rows, width] has for each row's current group."""
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
