"""A cycle is found if there is one."""

import numpy as np
from hypothesis import given

from engine.graphs.cycles import a_cycle
from tests.engine.graphs.grouping.digraphs import DIGRAPHS, pairs_of, reachable


@given(DIGRAPHS)
def test_a_cycle_is_found_if_there_is_one(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = case
    pairs = pairs_of(edges)
    cycle = a_cycle(pairs, count)
    reach = reachable(pairs, count) & ~np.eye(count, dtype=bool)
    assert bool(cycle) == bool(np.any(reach & reach.T))
    assert len(set(cycle)) == len(cycle)
    steps = set(zip(cycle, cycle[1:] + cycle[:1], strict=True))
    assert steps <= {(source, target) for source, target in pairs.tolist()}
    assert not cycle or cycle[0] == min(cycle)
