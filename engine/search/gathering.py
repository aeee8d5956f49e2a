"""Puts the parts of groups together again where their being apart brings nothing.

A search through levels moves single ops too, and many such moves leave the step time as it is. So most groups of its
best placement are on several devices, and nobody can see which of them matter. Here every group that is split is put
where most of its work is, level by level, from the one that people see to the finest but one: all of them at once
first, then by halves where that takes longer. What is gathered is never slower and never needs more memory.

Source: halving as Zeller, Hildebrandt: Simplifying and isolating failure-inducing input, IEEE Transactions on Software
Engineering 28, 2002.
"""

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import coarser_group_of_each
from engine.graphs.grouping.nesting import SPLIT, devices_of_groups
from engine.problem import PlacementProblem
from engine.search.levels import level_of_methods

SHARE_TO_GATHER = 0.04
"""of a search's evaluations and seconds, at its end"""
LEAST_WORK_US = 1e-9
"""work of each op beside its time: so ops that take none count too"""


class Gathering:
    """One pass over the split groups of the ledger's best placement."""

    def __init__(self, problem: PlacementProblem, should_stop: ShouldStop) -> None:
        """The ledger must have a best placement."""
        self._problem, self._should_stop = problem, should_stop
        self._placement = problem.ledger.answer().copy()
        self._rank = (problem.ledger.missing_bytes or 0, problem.ledger.best_time_us)
        work_us = np.nan_to_num(problem.op_time_us).max(axis=0) + LEAST_WORK_US
        self._work_us = np.bincount(problem.grouping.group_of_op, work_us, problem.group_count)
        """[units]"""
        self._gathered = 0

    def run(self) -> None:
        """Gather until all is tried, the budget is spent or a stop is requested; then the ledger has the answer."""
        for level in _levels_to_gather(self._problem):
            self._gather(level)
        if self._gathered:
            missing_bytes, step_time_us = self._rank
            self._problem.context.settle(self._placement, step_time_us, missing_bytes)

    def _gather(self, level: Grouping) -> None:
        """Gather split groups of `level`: halves of what cannot be gathered at once are tried each by itself."""
        inside = coarser_group_of_each(level, self._problem.grouping)
        home = self._homes(level, inside)
        waiting = [np.flatnonzero(home != SPLIT)]
        while waiting and not self._problem.context.is_over(self._should_stop):
            groups = waiting.pop()
            if len(groups) == 0:
                continue
            if self._try(inside, np.where(np.isin(np.arange(level.group_count), groups), home, SPLIT)):
                self._gathered += len(groups)
            elif len(groups) > 1:
                half = len(groups) // 2
                waiting += [groups[half:], groups[:half]]

    def _homes(self, level: Grouping, inside: NDArray[np.integer]) -> NDArray[np.integer]:
        """[groups] where a split group of `level` has most of its work and all of it may be; `SPLIT` for the others."""
        size = (level.group_count, self._problem.device_count)
        work_us, allowed = np.zeros(size), np.ones(size, dtype=bool)
        np.add.at(work_us, (inside, self._placement), self._work_us)
        np.logical_and.at(allowed, inside, self._problem.allowed)
        work_us[~allowed] = 0.0
        is_split = devices_of_groups(inside.astype(np.int32), level.group_count, self._placement) == SPLIT
        return np.where(is_split & (work_us.max(axis=1) > 0), work_us.argmax(axis=1), SPLIT)

    def _try(self, inside: NDArray[np.integer], home: NDArray[np.integer]) -> bool:
        """Put the groups that have a `home` there; returns whether that is no worse, and so stays."""
        moved = np.where(home[inside] == SPLIT, self._placement, home[inside]).astype(np.int32)
        if not self._problem.keeps_rules(moved[None, :])[0]:
            return False
        evaluations = self._problem.evaluate(moved[None, :])
        rank = (int(self._problem.missing_bytes(evaluations)[0]), float(evaluations.step_time_us[0]))
        if rank > self._rank:
            return False
        self._placement, self._rank = moved, rank
        return True


def _levels_to_gather(problem: PlacementProblem) -> list[Grouping]:
    """The level that people see and the finer ones but the finest, which nothing splits; none without levels."""
    shown = level_of_methods(problem)
    return [level for level in problem.coarser if shown is not None and level.group_count >= shown.group_count]
