"""Groupings of one graph that nest, so that a search can move much at once or little.

The finest level has a group for each set of co-located ops. In the next one gradients have joined their forward ops.
From there groups are merged to half of their number, again and again; each level bounds the weight of its groups by its
own equal share of the work.

Source: multilevel partitioning, G. Karypis and V. Kumar, SIAM J. Sci. Comput. 20(1), 1998, for the idea of levels.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import MOST_SHARES_OF_A_LAYER, Classes, Grouping, OpCosts

COARSEST_GROUPS = 32
GROUPS_WITHOUT_LEVELS = 128
"""of the level that methods without levels get; a layer, its gradients joined, weighs at most some of its groups"""
LEAST_STEP = 0.8
"""a level has at most this share of the groups of the next finer one, else it is left out"""


def nested_groupings(graph: ComputationGraph, costs: OpCosts, coarsest: int = COARSEST_GROUPS) -> tuple[Grouping, ...]:
    """Groupings that nest, the coarsest first: each group is a union of groups of every finer one.

    The last one has a group for each set of co-located ops. The others have `coarsest` groups, twice as many, and so
    on, as far as ops of different sites do not keep more apart; the finest of them have what joining leaves. The
    same graph gives the same groups in any order of its file. Raises GraphError where co-located ops are fixed to
    different devices.
    """
    classes = Classes(graph, costs)
    merged = classes.to_merge(_most_of_a_layer(classes, GROUPS_WITHOUT_LEVELS))
    levels = [merged.group_of_op()]
    sizes = halvings(merged.group_count, coarsest)
    for groups in sizes:
        if groups == sizes[0]:
            merged.join(classes.total_weight // groups)
        merged.merge(groups, classes.total_weight // groups)
        levels.append(merged.group_of_op())
    nested = [classes.grouping()]
    for group_of_op in _without_heavy_gradients(classes, levels):
        _add(nested, classes.grouped(group_of_op))
    return tuple(reversed(nested))


def _without_heavy_gradients(classes: Classes, levels: Sequence[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
    """`levels`, the finest first, where gradients that are too heavy for a level are groups of their own.

    In the level of `GROUPS_WITHOUT_LEVELS` a layer has as much of its gradients as there would be in that many groups.
    So a step to a finer level splits off what became too heavy, and the levels still nest.
    """
    layers = lighter = classes.layers(_most_of_a_layer(classes, GROUPS_WITHOUT_LEVELS))
    made = []
    for group_of_op in reversed(levels):
        groups = int(group_of_op.max()) + 1
        if groups > GROUPS_WITHOUT_LEVELS:
            lighter = classes.layers(_most_of_a_layer(classes, groups), lighter)
            group_of_op = classes.without_heavy_gradients(group_of_op, layers, lighter)
        made.append(group_of_op)
    return made[::-1]


def _most_of_a_layer(classes: Classes, groups: int) -> int:
    return MOST_SHARES_OF_A_LAYER * (classes.total_weight // groups)


def halvings(most: int, least: int) -> list[int]:
    """`least` and its doublings below `most`, the largest first."""
    sizes = []
    while least < most:
        sizes.append(least)
        least *= 2
    return sizes[::-1]


def _add(nested: list[Grouping], coarser: Grouping) -> None:
    if coarser.group_count <= LEAST_STEP * nested[-1].group_count:
        nested.append(coarser)


def coarser_group_of_each(coarser: Grouping, finer: Grouping) -> NDArray[np.int32]:
    """[groups of `finer`] the group of `coarser` that holds each; the groupings nest."""
    first_op = np.unique(finer.group_of_op, return_index=True)[1]
    return coarser.group_of_op[first_op]


def nearest(levels: Sequence[Grouping], groups: int) -> Grouping:
    """The one of `levels` whose number of groups is nearest to `groups`, as a ratio; of equals the first."""
    return min(levels, key=lambda level: abs(np.log(level.group_count / groups)))
