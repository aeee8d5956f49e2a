"""Whether a placement keeps apart what must be, compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import inlined
from engine.graphs.apart import NO_PART
from engine.problem import PlacementProblem


class ApartTable(NamedTuple):
    """The groups that must be apart, rule by rule, as in `engine.graphs.apart.Apart`."""

    rule: NDArray[np.int32]
    """[members]"""
    part: NDArray[np.int32]
    """[members]"""
    group: NDArray[np.int32]
    """[members]"""
    owner: NDArray[np.int32]
    """[devices] room for the part that each device has"""


def make_apart_table(problem: PlacementProblem) -> ApartTable:
    """The table of `problem`, for one search at a time."""
    apart, owner = problem.apart, np.zeros(problem.device_count, np.int32)
    return ApartTable(apart.rule.copy(), apart.part.copy(), apart.member.copy(), owner)


@inlined
def keeps_apart(table: ApartTable, placement: NDArray[np.int32]) -> bool:
    """Whether no device of `placement` [groups] has groups of two parts of a rule."""
    last = -1
    for index in range(len(table.rule)):
        if table.rule[index] != last:
            last = table.rule[index]
            table.owner[:] = NO_PART
        device, part = placement[table.group[index]], table.part[index]
        if table.owner[device] == NO_PART:
            table.owner[device] = part
        elif table.owner[device] != part:
            return False
    return True
