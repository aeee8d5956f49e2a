"""Which levels a search moves at: in each cycle from coarse to fine, as the heat falls, or one level alone.

While it is hot, only moves of much work matter; when it is cold, only moves of little work are still accepted. Most
moves are made at the level of the moment and at those beside it, a few at every other one, so that a late coarse move
is possible where it pays. The next cycle begins with the coarse levels again.
"""

import numpy as np
from numpy.typing import NDArray

from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import GROUPS_WITHOUT_LEVELS, nearest
from engine.problem import PlacementProblem

COARSEST_SEARCHED = 64
"""groups; the moves of many groups at once reach further than a level with fewer"""
WIDTH = 1.0
"""levels from the level of the moment at which a level has 1/e of its share"""
LEAST_SHARE = 0.02
"""of each level, where the level of the moment has 1"""


def level_of_methods(problem: PlacementProblem) -> Grouping | None:
    """The level for methods that place the groups of one level; None where the problem has only its own."""
    return nearest(problem.coarser, GROUPS_WITHOUT_LEVELS) if problem.coarser else None


def searched(problem: PlacementProblem, *, through_levels: bool) -> list[Grouping]:
    """The groupings whose groups a search moves, the coarsest first: through levels, or the one of other methods."""
    if not through_levels:
        return [level_of_methods(problem) or problem.grouping]
    return [*(level for level in problem.coarser if level.group_count >= COARSEST_SEARCHED), problem.grouping]


def level_shares(levels: int, share: float) -> NDArray[np.float64]:
    """[levels] cumulative frequencies of moves at each level, the coarsest first, when `share` of a cycle is over."""
    distance = np.abs(np.arange(levels) - share * (levels - 1))
    return np.cumsum(np.exp(-distance / WIDTH) + LEAST_SHARE)
