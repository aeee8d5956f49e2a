"""The edges that messages take, with features that do not depend on the graph's scale."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.placeto.seeing.features import GroupGraph

USUAL_EDGE = np.array(
    [
        (0.8, 0.8),  # logarithm of its transfer time, in mean times of a group
        (0.8, 0.8),  # the same for the bytes that forward ops send to forward ops
        (0.2, 0.4),  # whether it leads against the order of the groups
    ]
)
"""[EDGE_FEATURES, 2] rough mean and deviation of each feature; features are standardised: (x − mean) / deviation"""
EDGE_FEATURES = len(USUAL_EDGE)


class MessageEdges(NamedTuple):
    """The group graph's edges, then its feedback edges."""

    ends: NDArray[np.int64]
    """[2, edges] producer and consumer"""
    features: NDArray[np.float32]
    """[edges, EDGE_FEATURES]"""


def message_edges(graph: GroupGraph) -> MessageEdges:
    """All edges of `graph` along which bytes go in a step."""
    onward, back = len(graph.edge_source), len(graph.feedback_source)
    ends = np.stack(
        [
            np.concatenate([graph.edge_source, graph.feedback_source]),
            np.concatenate([graph.edge_target, graph.feedback_target]),
        ]
    )
    sent = np.concatenate([graph.edge_bytes, graph.feedback_bytes])
    forward = np.concatenate([graph.edge_forward_bytes, np.zeros(back)])
    time_of_byte = graph.mean_us_per_byte / graph.mean_group_us
    columns = [
        np.log1p(sent * time_of_byte),
        np.log1p(forward * time_of_byte),
        np.concatenate([np.zeros(onward), np.ones(back)]),
    ]
    in_units: NDArray[np.float64] = (np.stack(columns, axis=1) - USUAL_EDGE[:, 0]) / USUAL_EDGE[:, 1]
    return MessageEdges(ends.astype(np.int64), in_units.astype(np.float32))
