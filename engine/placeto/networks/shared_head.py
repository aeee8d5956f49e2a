"""The fast policy: the graph is embedded once a batch, and one shared head scores each device for each group.

The score of device d for group v is an MLP of v's embedding, of the sums of the embeddings of v's parents, children and
parallel groups on d, and of the view of d (`device_view`: times, bytes, load, memory, earliest finish). It does not
depend on the number of devices or their numbering.

Source: placement heads that score devices one by one: Addanki et al. 2019, section 2 (the pooled sets); GiPH (2023)
and DOPPLER (2026) for unequal devices and one embedding an episode.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Data

from engine.placeto.networks.choices import UnsetLinear, log_probabilities
from engine.placeto.networks.group_sums import Decisions, group_sums
from engine.placeto.networks.message_passing import TwoWayRounds, groups_of_graph
from engine.placeto.networks.sampling import HeadArrays
from engine.placeto.seeing.device_view import DEVICE_FEATURES
from engine.placeto.seeing.features import GROUP_FEATURES


class Projections(NamedTuple):
    """The embeddings after the head's first layer: one table a role, each [groups, hidden]."""

    own: Tensor
    parent: Tensor
    child: Tensor
    parallel: Tensor


class SharedHead(nn.Module):
    """The embedding and the head; their weights fit any graph and any cluster."""

    def __init__(self, width: int, hidden: int, rounds: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.rounds = TwoWayRounds(GROUP_FEATURES, width, rounds)
        self.embedding = UnsetLinear(GROUP_FEATURES + 2 * width, width)
        self.own = UnsetLinear(width, hidden)
        self.roles = UnsetLinear(width, 3 * hidden, bias=False)
        self.view = UnsetLinear(DEVICE_FEATURES, hidden, bias=False)
        self.second = UnsetLinear(hidden, hidden)
        self.together = UnsetLinear(hidden, hidden, bias=False)
        self.score = UnsetLinear(hidden, 1, bias=False)
        self.view_score = UnsetLinear(DEVICE_FEATURES, 1, bias=False)

    def project(self, data: Data) -> Projections:
        """Embed the groups of `data` (`message_passing.data_of`), each graph of a `Batch` as if it were alone.

        Rows that are summed over groups are scaled by 4 over the number of groups of their graph.
        """
        embedded = torch.tanh(self.embedding(torch.cat([data.x, self.rounds(data)], dim=-1)))
        roles = self.roles(embedded) * (4.0 / groups_of_graph(data))
        parent, child, parallel = roles.split(self.hidden, dim=-1)
        return Projections(self.own(embedded), parent, child, parallel)

    def arrays(self, projections: Projections) -> HeadArrays:
        """The weights and `projections` as arrays for the compiled sampler."""
        return HeadArrays(
            own=_array(projections.own),
            parallel=_array(projections.parallel),
            parent_more=_array(projections.parent - projections.parallel),
            child_more=_array(projections.child - projections.parallel),
            view_weight=_array(self.view.weight.T),
            second_weight=_array(self.second.weight.T),
            second_bias=_array(self.second.bias),
            together_weight=_array(self.together.weight.T),
            score_weight=_array(self.score.weight[0]),
            view_score=_array(self.view_score.weight[0]),
        )

    def log_probabilities(self, projections: Projections, decisions: Decisions, explore: float) -> Tensor:
        """[batch, steps, devices] log-probabilities at each decision; `explore` as in `choices.log_probabilities`.

        They are 0 at decisions that are not to be scored.
        """
        more = torch.cat([projections.parent - projections.parallel, projections.child - projections.parallel])
        sums, orders = group_sums(projections.own, more, projections.parallel, decisions), decisions.orders
        if decisions.counted is not None:
            orders = orders[decisions.counted]
        first = torch.relu(sums + self.view(decisions.views))
        second = self.second(first) + self.together(first.mean(dim=-2, keepdim=True))
        deep = self.score(torch.relu(second))
        scores = (deep + self.view_score(decisions.views))[..., 0] + decisions.prior_scores[orders]
        logarithms = log_probabilities(scores, decisions.allowed[orders], explore)
        if decisions.counted is None:
            return logarithms
        nothing = logarithms.new_zeros(*decisions.orders.shape, logarithms.shape[-1])
        return nothing.index_put((decisions.counted,), logarithms)


def _array(tensor: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(tensor.detach().cpu().numpy().astype(np.float32, copy=False))
