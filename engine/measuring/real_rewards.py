"""A run's step times, measured on this machine's devices: of its answer, its best placements, or all it evaluates.

One measurement of a placement may be lucky, and the best of many is. So a run's good placements are measured in rounds
over all of them, as `many.py` makes them, then the fastest of these rounds and the run's own best in as many fresh
rounds of the two alone. The run's own best stays unless the other one is faster in these by more than the noise.
"""

import dataclasses
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Pulse, ReportProgress, no_progress, no_pulse
from engine.errors import MeasuringError, PlacetoError, SettingsError, shortened
from engine.events import Json
from engine.measuring.fidelity import APART, MeasuredSteps
from engine.measuring.many import GraphToMeasure, measured_placements, require_rounds
from engine.problem.good_placements import MOST_KEPT
from engine.problem.step_timer import StepTimer
from engine.run.report import Choice

LAST, TOP, ALL = "last", "top", "all"
TOP_OF_ALL = 5
"""good placements that are measured again after a run whose evaluations were measured"""
EVALUATING, CHECKING = "measuring evaluations", "checking the devices"


@dataclass(frozen=True, slots=True)
class WhatToMeasure:
    """Which placements of a run are measured."""

    top: int
    """how many of the best distinct placements are measured after the run; 1: its answer alone"""
    every: bool = False
    """whether each evaluation is measured too, and the method learns from that"""

    @staticmethod
    def of_words(words: Sequence[str]) -> "WhatToMeasure":
        """From `last`, `top K` or `all`. Raises SettingsError."""
        match [word for text in words for word in text.split()]:
            case ["last"]:
                return WhatToMeasure(1)
            case ["all"]:
                return WhatToMeasure(TOP_OF_ALL, every=True)
            case ["top", count] if count.isdecimal() and 2 <= int(count) <= MOST_KEPT:
                return WhatToMeasure(int(count))
        allowed = f"{LAST}, {TOP} K with K from 2 to {MOST_KEPT}, or {ALL}"
        raise SettingsError(shortened(" ".join(words)), where="measure", allowed=allowed)

    @property
    def words(self) -> str:
        """The inverse of `of_words`."""
        if self.every:
            return ALL
        return LAST if self.top == 1 else f"{TOP} {self.top}"


class RealRewards:
    """Measures for one run: its `StepTimer`, if every evaluation is measured, and its `Choose`."""

    def __init__(
        self,
        graph: GraphToMeasure,
        op_names: Sequence[str],
        what: WhatToMeasure,
        report_progress: ReportProgress = no_progress,
        pulse: Pulse = no_pulse,
        *,
        rounds: int = 3,
    ) -> None:
        """`rounds` are those of the choice. Raises SettingsError."""
        require_rounds(rounds)
        self._graph, self._op_names, self._what, self._rounds = graph, op_names, what, rounds
        self._report_progress, self._pulse = report_progress, pulse
        self._known_us: dict[bytes, float] = {}
        """devices of the ops → step time, so that a placement is measured once"""

    def check(self, device_of_op: NDArray[np.int32]) -> None:
        """Raise before the run what a measurement would: an op that this machine cannot run, devices that it lacks.

        `device_of_op` [0 or 1, ops]: a placement that fits in memory, if one is known; it is run.
        """
        graph = dataclasses.replace(self._graph, steps=1)
        order = graph.order(self._op_names, cast(list[Json], device_of_op.tolist()))
        graph.visit(order, range(len(device_of_op)), CHECKING, self._report_progress, self._pulse)

    @property
    def timer(self) -> StepTimer | None:
        """What takes the run's step times; None where they are simulated."""
        return self if self._what.every else None

    def step_time_us(self, device_of_op: NDArray[np.int32]) -> NDArray[np.float64]:
        """[placements] the median of the steps of each placement; one that was measured before is not run again.

        Raises MeasuringError.
        """
        keys = [row.tobytes() for row in device_of_op]
        first_of = {key: index for index, key in reversed([*enumerate(keys)]) if key not in self._known_us}
        if first_of:
            new = sorted(first_of.values())
            order = self._graph.order(self._op_names, cast(list[Json], device_of_op[new].tolist()))
            try:
                wall_us = self._graph.visit(order, range(len(new)), EVALUATING, self._report_progress, self._pulse)
            except PlacetoError as error:
                raise MeasuringError(str(error)) from error
            medians = np.median(wall_us, axis=1).tolist()
            self._known_us |= {keys[index]: median for index, median in zip(new, medians, strict=True)}
        return np.array([self._known_us[key] for key in keys])

    def __call__(self, device_of_op: NDArray[np.int32], simulated_us: NDArray[np.float64]) -> Choice:
        """Measure the best of `device_of_op` [placements, ops] in rounds; the fastest one is the answer.

        The first one stays unless another is faster in fresh rounds by more than `APART` deviations of the noise, and
        where measuring fails; the report then holds the error.
        """
        facts: dict[str, Json] = {"what": self._what.words}
        if self._what.every:
            facts["measured_evaluations"] = len(self._known_us)
        try:
            index, found = self._chosen(device_of_op[: self._what.top], simulated_us[: self._what.top])
        except PlacetoError as error:
            return Choice(0, {"measured": {**facts, "error": str(error)}})
        return Choice(index, {"measured": facts | found})

    def _chosen(
        self, device_of_op: NDArray[np.int32], simulated_us: NDArray[np.float64]
    ) -> tuple[int, dict[str, Json]]:
        """The number of the answer, and what the report says of it. Raises as `measure_many`."""
        began = time.monotonic()
        measured = self._measured(device_of_op)
        index, gain, confirmed = 0, 0.0, cast(Json, None)
        fastest = int(measured.step_time_us.argmin())
        if fastest:
            own_us, other_us = self._measured(device_of_op[[0, fastest]]).step_time_us.tolist()
            least_gain = math.expm1(APART * measured.noise * math.sqrt(2 / self._rounds))
            confirmed = {"placement": fastest, "step_time_us": [own_us, other_us], "least_gain": least_gain}
            if own_us / other_us - 1 > least_gain:
                index, gain = fastest, own_us / other_us - 1
        return index, {
            "placements": [*measured_placements(measured, simulated_us)],
            "chosen": index,
            "gain": gain,
            "confirmed": confirmed,
            "noise": measured.noise,
            "rounds": self._rounds,
            "steps": self._graph.steps,
            "seconds": time.monotonic() - began,
        }

    def _measured(self, device_of_op: NDArray[np.int32]) -> MeasuredSteps:
        """The step times of `device_of_op` [placements, ops]."""
        return self._graph.measured(self._op_names, device_of_op, self._rounds, self._report_progress, self._pulse)
