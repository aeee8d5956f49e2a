"""Message passing over the group graph in both directions, each with its own parameters, shared by nodes and rounds.

x_v ← g(mean_{e from u to v} relu(f(x_u) + k(e))) + h(x⁰_v), top-down over parents and bottom-up over children,
concatenated. A group without neighbours in a direction keeps h(x⁰_v). This is the shared head's form, after Addanki et
al. 2019, section 2; that messages see what is sent along an edge is ours. `published` has the form of the published
code.
"""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from engine.placeto.networks.choices import UnsetLinear
from engine.placeto.seeing.edge_features import EDGE_FEATURES, message_edges
from engine.placeto.seeing.features import GroupGraph, group_features

NODE_DIMENSION = 0
"""features are [groups, ..., width]: a message is one contiguous row, whatever the batch"""


def arriving(messages: Tensor, edges: Tensor, aggregator: str) -> Tensor:
    """[groups, ..., width] the `sum` or `mean` of the `messages` that each group receives along its incoming edges.

    `edges` [2, edges] lead from row 0 to row 1. The library's `MessagePassing` gives the same to the bit, but makes a
    training of 40 groups a tenth longer, and each process leaves a generated module in the temporary folder.
    """
    sent = messages.index_select(NODE_DIMENSION, edges[0])
    gathered: Tensor = scatter(sent, edges[1], NODE_DIMENSION, len(messages), aggregator)
    return gathered


def data_of(graph: GroupGraph, torch_device: torch.device) -> Data:
    """`x` [groups, GROUP_FEATURES], and of `edge_features.message_edges` `edge_index` and `edge_attr`.

    Several make a `Batch`.
    """
    edges, features = message_edges(graph), torch.from_numpy(group_features(graph))
    ends, seen = torch.from_numpy(edges.ends), torch.from_numpy(edges.features)
    return Data(x=features, edge_index=ends, edge_attr=seen).to(torch_device)


def groups_of_graph(data: Data) -> Tensor | float:
    """The number of groups in each group's graph: one number, or [groups, 1] if `data` is a `Batch` of graphs."""
    if "ptr" not in data:
        return float(data.num_nodes)
    sizes: Tensor = data.ptr.diff().to(data.x.dtype)
    return sizes[data.batch][:, None]


def two_layers(width_in: int, width_out: int) -> nn.Sequential:
    """Two linear layers, with a hidden ReLU layer as wide as the input."""
    return nn.Sequential(UnsetLinear(width_in, width_in), nn.ReLU(), UnsetLinear(width_in, width_out))


class DirectedRounds(nn.Module):
    """Rounds of message passing along the edges as given: [groups, width_in] → [groups, width]."""

    def __init__(self, width_in: int, width: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.own = two_layers(width_in, width)
        self.message_network = UnsetLinear(width, width)
        self.edge_network = UnsetLinear(EDGE_FEATURES, width, bias=False)
        self.update_network = two_layers(width, width)

    def forward(self, features: Tensor, edges: Tensor, seen: Tensor, has_neighbour: Tensor) -> Tensor:
        """`edges` [2, edges] lead from row 0 to row 1, `seen` [edges, EDGE_FEATURES] is what goes along them.

        `has_neighbour` [groups] is 1 where an edge ends, else 0.
        """
        own, along = self.own(features), self.edge_network(seen)
        state: Tensor = own
        for _ in range(self.rounds):
            messages = torch.relu(self.message_network(state).index_select(NODE_DIMENSION, edges[0]) + along)
            gathered = scatter(messages, edges[1], NODE_DIMENSION, len(features), "mean")
            state = own + has_neighbour[:, None] * self.update_network(gathered)
        return state


class TwoWayRounds(nn.Module):
    """Rounds of message passing in both directions: [groups, width_in] → [groups, 2 · width]."""

    def __init__(self, width_in: int, width: int, rounds: int) -> None:
        super().__init__()
        self.top_down = DirectedRounds(width_in, width, rounds)
        self.bottom_up = DirectedRounds(width_in, width, rounds)

    def forward(self, data: Data) -> Tensor:
        """`data` as `data_of` makes it, with `x` [groups, width_in]."""
        features, edges, seen = data.x, data.edge_index, data.edge_attr
        groups = features.shape[0]
        down = self.top_down(features, edges, seen, ending(edges[1], groups, features.dtype))
        up = self.bottom_up(features, edges.flip(0), seen, ending(edges[0], groups, features.dtype))
        return torch.cat([down, up], dim=-1)


def ending(targets: Tensor, groups: int, dtype: torch.dtype) -> Tensor:
    """[groups] 1 where an edge ends, else 0."""
    return torch.zeros(groups, dtype=dtype, device=targets.device).index_fill_(0, targets, 1.0)
