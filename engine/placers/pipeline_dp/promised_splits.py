"""The splits that the dynamic programme promises, from the best on, until what was evaluated beats all others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.placers.pipeline_dp.splitting import SLACK, Periods
from engine.placers.pipeline_dp.stages import StageScratch, find_stages, make_stage_scratch


@dataclass(frozen=True, slots=True)
class SplitStage:
    """A set of units on a device of a class."""

    units: NDArray[np.int64]
    device_class: int


@dataclass
class PromisedSplits:
    """Goes through the splits of `periods` from the last stage to the first.

    A split whose promised period is below the best true one may be better, so it is looked at; all others are not.
    """

    periods: Periods
    true_period_us: Callable[[list[SplitStage]], float]
    """evaluates a split, its stages from the last to the first; infinite where it does not fit"""
    is_over: Callable[[], bool]
    most_splits: int
    """how many are evaluated at most"""
    best_us: float = np.inf
    """the best true period so far"""
    left_us: float = np.inf
    """the least promise of the splits that may be better and were not looked at"""
    _scratch: StageScratch = field(init=False)
    _evaluated: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._scratch = make_stage_scratch(self.periods.tables)

    def walk(self) -> None:
        """Evaluate splits until none can be better, or it is over."""
        whole, state = self.periods.period_us.shape
        if self._may_be_better(self.periods.best_us):
            self._go_on([], whole - 1, state - 1, 0.0)

    def _may_be_better(self, period_us: float) -> bool:
        return period_us < np.inf and period_us < self.best_us * (1.0 - SLACK)

    def _go_on(self, stages: list[SplitStage], whole: int, state: int, least_us: float) -> None:
        """Split ideal `whole` on the devices of `state`; behind it are `stages`, whose loads are up to `least_us`."""
        if whole == 0:
            self.best_us = min(self.best_us, self.true_period_us(stages))
            self._evaluated += 1
            return
        for promised_us, smaller, move, load_us in list(self._choices(whole, state, least_us)):
            if not self._may_be_better(promised_us):
                return
            if self._evaluated == self.most_splits or self.is_over():
                self.left_us = min(self.left_us, promised_us)
                return
            device_class = int(self.periods.states.device_class[move])
            stage = SplitStage(self.periods.ideals.units_between(smaller, whole), device_class)
            before = int(self.periods.states.next_state[move])
            self._go_on([*stages, stage], smaller, before, max(least_us, load_us))

    def _choices(self, whole: int, state: int, least_us: float) -> Iterator[tuple[float, int, int, float]]:
        """The last stages of `whole`, best first: the promised period, the ideal left, the move and the load."""
        periods = self.periods
        most_us = min(periods.most_us, self.best_us)
        found = find_stages(periods.tables, self._scratch, whole, most_us)
        ideals = self._scratch.ideal[:found].copy()
        parts = []
        for move in range(*periods.states.move_offset[state : state + 2].tolist()):
            load_us = self._scratch.load_us[:found, periods.states.device_class[move]].copy()
            rest_us = periods.period_us[ideals, periods.states.next_state[move]]
            promised_us = np.maximum(np.maximum(load_us, rest_us), least_us)
            good = np.flatnonzero((promised_us <= most_us) & (promised_us < np.inf))
            parts.append((promised_us[good], ideals[good], np.full(len(good), move), load_us[good]))
        if not parts:
            return
        promised, left, moves, loads = (np.concatenate(part) for part in zip(*parts, strict=True))
        for index in np.lexsort((left, loads, promised)).tolist():
            yield float(promised[index]), int(left[index]), int(moves[index]), float(loads[index])
