"""Place each group in the drawing of a graph, in pixels: `engine/graphs/layered.py` with the room that groups take."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

NODE_SIZE = 48
"""a group in pixels, of the same width and height"""
COLUMN, ROW, LAYER = 96.0, 64.0, 80.0
"""pixels from centre to centre: of neighbours in a row, of two rows of one layer, of two layers"""
MARGIN = 40.0
STRIP_GAP = 56.0
"""pixels between the groups of two strips"""
ASPECT = 1.2
"""width by height that folding aims at"""


class Net(Protocol):
    """An acyclic graph to lay out, such as a `Grouping`. Its nodes are called groups here."""

    @property
    def group_count(self) -> int:
        """Number of nodes, which are numbered in a topological order."""

    @property
    def edge_source(self) -> NDArray[np.int32]:
        """[edges] always less than `edge_target`"""

    @property
    def edge_target(self) -> NDArray[np.int32]:
        """[edges]"""

    @property
    def edge_bytes(self) -> NDArray[np.int64]:
        """[edges]"""


@dataclass(frozen=True, slots=True)
class Strip:
    """A part of the layers, one below the other."""

    left: float
    right: float
    leads_up: bool
    """whether its first layer is its lowest"""


@dataclass(frozen=True, slots=True)
class Layout:
    """The centre of each group in pixels, from the top left corner, and the size of the whole. Arrays are read-only."""

    x: NDArray[np.float64]
    """[groups] from the left"""
    y: NDArray[np.float64]
    """[groups] from the top"""
    width: float
    height: float
    strips: tuple[Strip, ...]
    """from the left, in the order of the data"""

    def __post_init__(self) -> None:
        self.x.setflags(write=False)
        self.y.setflags(write=False)


def layout(net: Net) -> Layout:
    """Lay out a graph. Feedback edges of a `Grouping` do not affect the layout."""
    source, target = net.edge_source.astype(np.int64), net.edge_target.astype(np.int64)
    from engine.graphs.layered import Spacing, layered  # loads numba, which the check of an upload goes without

    spacing = Spacing(COLUMN, ROW, LAYER, STRIP_GAP, NODE_SIZE, ASPECT, narrowest_row=6, row_share=1.0)
    places = layered(net.group_count, source, target, net.edge_bytes, spacing)
    strips = [
        Strip(round(MARGIN + left, 1), round(MARGIN + right + NODE_SIZE, 1), number % 2 == 1)
        for number, (left, right) in enumerate(zip(places.lefts.tolist(), places.rights.tolist(), strict=True))
    ]
    return Layout(
        np.round(MARGIN + NODE_SIZE / 2 + places.x, 1),
        np.round(MARGIN + NODE_SIZE / 2 + places.y, 1),
        round(float(places.rights[-1]) + NODE_SIZE + 2 * MARGIN, 1),
        round(float(places.y.max()) + NODE_SIZE + 2 * MARGIN, 1),
        tuple(strips),
    )
