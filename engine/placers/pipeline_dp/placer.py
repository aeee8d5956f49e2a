"""Pipeline DP: the contiguous split with the least period, by dynamic programming over ideals.

A split is contiguous if each device has an interval of an order in which the graph can run, forward and backward pass
apart. The first stages of a pipeline together are an ideal: a set of groups that holds all that its groups need. The
least period of an ideal on some devices follows from those of the smaller ideals: see splitting.py. Which groups a
training step keeps together: see problem_units.py.

The answer is exact for the loads that a stage has by itself: with equal links and `host`, `bus` or `none`, and where
memory is that of persistent bytes. Otherwise the programme promises what no split can beat, and splits are evaluated
from the best promise on, until the best evaluated one beats all promises that are left or `most_splits` are evaluated.
Where stages must be contiguous, the ledger keeps the least promise that is left as a bound that no placement beats.

Where there are more than `most_ideals`, it divides linear orders instead, a depth-first and a breadth-first one and the
one of the groups' numbers, and says so. Deviations: devices of one class are those of equal kind, memory and allowed
groups; stages on CPUs and GPUs may follow each other in any order; units that take no time join a neighbour first.
Source: Tarnawski, Phanishayee, Devanur, Mahajan, Nina Paravecino, Efficient algorithms for device placement of DNN
graph operators, NeurIPS 2020, section 5.1; PipeDream (Narayanan et al., SOSP 2019) for one linear order.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engine.errors import InfeasibleError, SettingsError
from engine.events import Json, ShouldStop
from engine.graphs.ordering import earliest_first
from engine.placers.pipeline_dp.device_states import states_of_devices
from engine.placers.pipeline_dp.ideals import Ideals, all_ideals, breadth_first_order, depth_first_order, prefixes
from engine.placers.pipeline_dp.problem_units import SplitProblem, split_problem
from engine.placers.pipeline_dp.promised_splits import PromisedSplits, SplitStage
from engine.placers.pipeline_dp.splitting import Periods, least_periods
from engine.placers.pipeline_dp.units import StageUnits
from engine.problem import PlacementProblem
from engine.search.symmetry import alike_devices
from engine.settings.fields import require_allowed, whole
from engine.settings.making import make_settings

MOST_PERIODS = 8_000_000
"""ideals times states of which the periods are kept: 64 MB"""
MOST_EXCHANGES = 60
"""placements of a split that differ by the devices of a class, where their links differ"""


@dataclass(frozen=True, slots=True)
class PipelineDpSettings:
    """Settings of the dynamic programme: how much it looks at before it settles for less."""

    most_ideals: int = whole(60_000, 2, 1_000_000, "ideals up to which the answer is exact; beyond it, linear orders")
    most_splits: int = whole(300, 1, 100_000, "splits to evaluate where links or memory make promises inexact")

    def __post_init__(self) -> None:
        require_allowed(self, "pipeline_dp")


class PipelineDp:
    """Splits a graph into contiguous stages."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `PipelineDpSettings`. Raises SettingsError."""
        self.settings = make_settings("pipeline_dp", PipelineDpSettings, settings)

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        """Raises SettingsError unless the objective is throughput, InfeasibleError where pins allow no such split."""
        if problem.stream is None:
            raise SettingsError(
                "pipeline_dp makes the period of a stream small, not the time of one step",
                where="method",
                allowed="the objective throughput, or another method",
                field="method",
            )
        search = _Search(split_problem(problem), self.settings, should_stop)
        search.run()
        if search.evaluated == 0:
            problem.context.progress("No split found is contiguous in the backward pass: it mirrors the forward pass")
            _Search(split_problem(problem, mirrored=True), self.settings, should_stop).run()


class _Search:
    """One search of the splits of a problem."""

    def __init__(self, split: SplitProblem, settings: PipelineDpSettings, should_stop: ShouldStop) -> None:
        self._split, self._settings = split, settings
        self._problem = split.problem
        self._is_over = partial(self._problem.context.is_over, should_stop)
        self._orders = linear_orders(split.units)
        self._states = states_of_devices(split.units.devices)
        self._alike = alike_devices(self._problem)
        self.evaluated = 0
        """number of placements"""
        self._best_us = np.inf
        """the best true period so far"""
        self._left_us = np.inf
        """the least promise of the splits of the last family that were not looked at"""
        self._tried_all_devices = True
        """whether each split was evaluated on all devices that make a difference"""

    def run(self) -> None:
        """Linear orders first, whose best bounds all others; then all ideals, if they are few enough."""
        if not self._states.are_all:
            self._problem.context.progress("Too many classes of devices: they follow each other in one order")
        units, likely = self._split.units, self._split.likely
        linear = least_periods(units, self._orders, self._states, lambda: False)
        assert linear is not None
        ideals = self._ideals()
        has_room = linear.best_us < np.inf
        if has_room and ideals is not None and self._problem.ledger.remaining > 1:
            self._evaluate(linear, 1)
        family = self._orders if ideals is None else ideals
        if likely is not None and not self._is_over():
            self._divide(likely, family, np.inf, 1)
        if not self._is_over():
            has_room |= self._divide(units, family, self._best_us, self._settings.most_splits)
            self._prove(is_whole=ideals is not None)
        if not has_room and self._best_us == np.inf and not self._is_over():
            self._divide_without_room()

    def _prove(self, *, is_whole: bool) -> None:
        """Let the ledger keep what no placement beats, if the splits of all ideals were gone through."""
        is_whole &= self._states.are_all and self._tried_all_devices and self._split.has_all_placements
        if is_whole and self._best_us < np.inf:
            self._problem.ledger.prove(min(self._best_us, self._left_us))

    def _ideals(self) -> Ideals | None:
        """All ideals, or None if there are too many, which it reports."""
        units, most = self._split.units, self._settings.most_ideals
        ideals = all_ideals(units.before, units.unit_count, min(most, max(2, MOST_PERIODS // self._states.count)))
        if ideals is None:
            self._problem.context.progress("Too many ideals for an exact split: dividing linear orders")
        return ideals

    def _divide(self, units: StageUnits, ideals: Ideals, most_us: float, most_splits: int) -> bool:
        """Evaluate the best splits up to a period of `most_us`; returns whether there is one."""
        periods = least_periods(units, ideals, self._states, self._is_over, most_us)
        if periods is None:
            self._left_us = 0.0
            return self._best_us < np.inf
        self._evaluate(periods, most_splits)
        return periods.best_us < np.inf

    def _divide_without_room(self) -> None:
        """Evaluate a split that does not fit, so that the ledger knows what is missing."""
        units = self._split.units
        roomy = dataclasses.replace(units, memory_bytes=np.full_like(units.memory_bytes, units.kept_bytes.sum()))
        self._problem.context.progress("No contiguous split keeps its weights within the memory of each device")
        if not self._divide(roomy, self._orders, np.inf, 1):
            raise InfeasibleError("no contiguous split has each group where it may go", where="pipeline_dp")

    def _evaluate(self, periods: Periods, most_splits: int) -> None:
        """Evaluate the splits that `periods` promises, at most `most_splits`, until none can be better."""
        answers = PromisedSplits(periods, self._true_period_us, self._is_over, most_splits, self._best_us)
        answers.walk()
        self._best_us, self._left_us = answers.best_us, answers.left_us

    def _true_period_us(self, stages: Sequence[SplitStage]) -> float:
        """Evaluate a split on all devices that make a difference, and return the best period."""
        every = self._placements(stages)
        placements = [each for each in every if self._split.is_contiguous(each)]
        self._tried_all_devices &= len(every) < MOST_EXCHANGES and len(placements) <= self._problem.ledger.remaining
        placements = placements[: self._problem.ledger.remaining]
        if not placements:
            return np.inf
        self.evaluated += len(placements)
        evaluations = self._problem.evaluate_episodes(np.array(placements, dtype=np.int32))
        period_us = np.where(self._problem.feasible(evaluations), evaluations.step_time_us, np.inf)
        return float(period_us.min())

    def _placements(self, stages: Sequence[SplitStage]) -> list[NDArray[np.int32]]:
        """[groups] the placements of a split, without those that differ by devices that are alike."""
        device_of_unit = np.zeros(self._split.units.unit_count, dtype=np.int32)
        placements = []
        for devices in itertools.islice(self._devices(stages, ()), MOST_EXCHANGES):
            for stage, device in zip(stages, devices, strict=True):
                device_of_unit[stage.units] = device
            placements.append(self._split.placement(device_of_unit))
        return placements

    def _devices(self, stages: Sequence[SplitStage], chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The devices of all stages, of which the first have `chosen` ones; of those that are alike the first free."""
        if len(chosen) == len(stages):
            yield chosen
            return
        of_class = np.flatnonzero(self._split.class_of_device == stages[len(chosen)].device_class)
        free = of_class[~np.isin(of_class, chosen)]
        _, first = np.unique(self._alike[free], return_index=True)
        for device in free[np.sort(first)].tolist():
            yield from self._devices(stages, (*chosen, device))


def linear_orders(units: StageUnits) -> Ideals:
    """The prefixes of three linear orders of `units`."""
    count = units.unit_count
    orders = (depth_first_order(units.before, count), breadth_first_order(units.before, count))
    place = earliest_first(units.before, np.arange(count, dtype=np.int64))
    return prefixes([*orders, np.argsort(place)], count)
