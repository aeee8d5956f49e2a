"""The shared head without torch: its forward pass on arrays, for pages that show a run's decisions.

`shared_head` and `message_passing` say what each part is; `tests/engine/placeto/test_head_arrays.py` holds them equal.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.placeto.networks.sampling import HeadArrays
from engine.placeto.seeing.edge_features import MessageEdges, message_edges
from engine.placeto.seeing.features import GroupGraph, group_features
from engine.placeto.seeing.view_graph import DeviceViewGraph

Array = NDArray[np.float32]


class HeadWeights:
    """The weights of a shared head by name, as `weights.weights_of` gives them."""

    def __init__(self, weights: Mapping[str, NDArray[np.generic]], message_rounds: int) -> None:
        self._weights = {name: np.asarray(array, dtype=np.float32) for name, array in weights.items()}
        self._rounds = message_rounds

    def head_arrays(self, graph: GroupGraph) -> HeadArrays:
        """The head's weights and the embeddings of the groups of `graph`, as `SharedHead.arrays` gives them."""
        features, edges = group_features(graph), message_edges(graph)
        down = self._directed("rounds.top_down", features, edges)
        up = self._directed("rounds.bottom_up", features, edges._replace(ends=edges.ends[::-1]))
        embedded = np.tanh(self._linear("embedding", np.concatenate([features, down, up], axis=1)))
        roles = self._linear("roles", embedded) * np.float32(4.0 / graph.group_count)
        parent, child, parallel = np.split(roles, 3, axis=1)
        return HeadArrays(
            own=self._linear("own", embedded),
            parallel=parallel,
            parent_more=parent - parallel,
            child_more=child - parallel,
            view_weight=self._weights["view.weight"].T,
            second_weight=self._weights["second.weight"].T,
            second_bias=self._weights["second.bias"],
            together_weight=self._weights["together.weight"].T,
            score_weight=self._weights["score.weight"][0],
            view_score=self._weights["view_score.weight"][0],
        )

    def _directed(self, name: str, features: Array, edges: MessageEdges) -> Array:
        """[groups, width] after the rounds of message passing along `edges`, from row 0 of their ends to row 1."""
        source, target = edges.ends
        own = self._two_layers(f"{name}.own", features)
        arriving = np.bincount(target, minlength=len(features)).astype(np.float32)[:, None]
        along = self._linear(f"{name}.edge_network", edges.features)
        state = own
        for _ in range(self._rounds):
            messages = np.maximum(self._linear(f"{name}.message_network", state)[source] + along, np.float32(0.0))
            gathered = np.zeros_like(own)
            np.add.at(gathered, target, messages)
            gathered /= np.maximum(arriving, np.float32(1.0))
            state = own + (arriving > 0).astype(np.float32) * self._two_layers(f"{name}.update_network", gathered)
        return state

    def _two_layers(self, name: str, values: Array) -> Array:
        return self._linear(f"{name}.2", np.maximum(self._linear(f"{name}.0", values), np.float32(0.0)))

    def _linear(self, name: str, values: Array) -> Array:
        product = values @ self._weights[f"{name}.weight"].T
        bias = self._weights.get(f"{name}.bias")
        return np.asarray(product if bias is None else product + bias, dtype=np.float32)


def probabilities_of_episode(
    graph: DeviceViewGraph,
    head: HeadArrays,
    start: NDArray[np.int32],
    order: NDArray[np.int32],
    actions: NDArray[np.int32],
    views: Array,
    explore: float,
) -> NDArray[np.float64]:
    """[steps, devices] the probability of each device at each step of an episode.

    The episode begins at `start` [groups], visits the groups of `order` [steps] and puts them on `actions` [steps].
    `views` [steps, devices, features] are those of `sampling.replay_episodes`; `explore` is the share of a uniform
    choice.
    """
    placement = start.copy()
    probabilities = np.zeros((len(order), graph.allowed.shape[1]))
    for step, group in enumerate(order.tolist()):
        scores = _scores(graph, head, placement, group, views[step])
        probabilities[step] = softmax_over_allowed(scores, graph.allowed[group], explore)
        placement[group] = actions[step]
    return probabilities


def _scores(graph: DeviceViewGraph, head: HeadArrays, placement: NDArray[np.int32], group: int, view: Array) -> Array:
    """[devices] the score of each device for `group`."""
    first = view @ head.view_weight + head.own[group]
    others = np.flatnonzero((placement != NO_DEVICE) & (np.arange(len(placement)) != group))
    parents = graph.parent_index[graph.parent_offset[group] : graph.parent_offset[group + 1]]
    children = graph.child_index[graph.child_offset[group] : graph.child_offset[group + 1]]
    for members, rows in ((others, head.parallel), (parents, head.parent_more), (children, head.child_more)):
        placed = members[placement[members] != NO_DEVICE]
        np.add.at(first, placement[placed], rows[placed])
    first = np.maximum(first, np.float32(0.0))
    second = first @ head.second_weight + head.second_bias + first.mean(axis=0) @ head.together_weight
    deep = np.maximum(second, np.float32(0.0)) @ head.score_weight
    return np.asarray(deep + view @ head.view_score + graph.prior_scores[group])


def softmax_over_allowed(scores: Array, allowed: NDArray[np.bool_], explore: float) -> NDArray[np.float64]:
    """[devices] the softmax of `scores` over the `allowed` devices, mixed with a uniform choice."""
    powers = np.where(allowed, np.exp(np.where(allowed, scores - scores[allowed].max(), 0.0).astype(np.float64)), 0.0)
    return np.asarray((1.0 - explore) * powers / powers.sum() + explore * allowed / allowed.sum())
