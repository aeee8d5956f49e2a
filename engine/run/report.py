"""The report of a run: its answer, chosen among the good placements, and what people are told of it."""

import dataclasses
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine import VERSION
from engine.events import Json
from engine.explaining.answer import answer_to_json
from engine.explaining.proof import proof_of
from engine.placers.placer import Placer
from engine.placers.policy_passes import beyond_training
from engine.placers.registry import PLACERS, settings_of
from engine.policies.traits import is_far
from engine.problem.good_placements import with_first
from engine.problem.robustness import Robustness, judged
from engine.run.problem import RunProblem
from engine.run.request import RunRequest
from engine.run.stream_answer import StreamAnswer, stream_answer_of, stream_fields


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The answer among a run's good placements, chosen by other figures than simulated ones."""

    index: int
    """of the placement"""
    report: dict[str, Json]
    """fields for it"""


class Choose(Protocol):
    """Chooses a run's answer when the method has ended."""

    def check(self, device_of_op: NDArray[np.int32]) -> None:
        """Raise before the run what the choice would; `device_of_op` [0 or 1, ops]: a placement that fits, if known."""
        ...

    def __call__(self, device_of_op: NDArray[np.int32], simulated_us: NDArray[np.float64]) -> Choice:
        """`device_of_op` [placements, ops]: the good ones, the run's own answer first; `simulated_us` [placements]."""
        ...


@dataclasses.dataclass(slots=True)
class RunReport:
    """What a run's report is made of."""

    request: RunRequest
    placed: RunProblem
    placer: Placer
    lower_bound_us: float
    choose: Choose | None = None
    """chooses the answer among good placements"""
    baselines: dict[str, float | None] = dataclasses.field(default_factory=dict)
    """method → its best step time in µs, of those evaluated so far"""
    refusal: str = ""
    """why no placement can fit in memory, where that was known before the search"""
    ended_by: str = ""
    """why the method ended before its budget was spent"""

    def policy_name(self) -> str | None:
        """The name on the policy's card; None without a policy."""
        return None if self.request.policy is None else self.request.policy.trained.card.name

    def to_json(self, *, stopped: bool) -> dict[str, Json]:
        """The report of docs/formats.md, with the placement by groups and their parts.

        Of a run that was `stopped` nothing is chosen: its answer is its own.
        """
        problem, levels = self.placed.problem, self.placed.levels
        ledger = problem.ledger
        wall_seconds = ledger.elapsed_seconds
        answer, judgements = self._answer(stopped=stopped)
        in_stream = None
        if problem.stream is not None:
            good = ledger.good.placements() if ledger.good else ledger.answer()[None, :]
            in_stream = stream_answer_of(problem, good)
            answer = in_stream.placement
        evaluation, split = problem.simulator.evaluate(answer[None, :]), levels.split_placement(answer)
        peak_bytes = evaluation.peak_bytes[0] if in_stream is None else in_stream.batch.peak_bytes
        return {
            "method": self.request.method,
            "seed": self.request.seed,
            "settings": settings_of(self.placer),
            "policy": self.policy_name(),
            **self._policy_fit(),
            "engine_version": VERSION,
            "step_time_us": float(evaluation.step_time_us[0]),
            "feasible": ledger.best_step_time_us is not None if in_stream is None else in_stream.missing_bytes == 0,
            "peak_bytes": [int(peak) for peak in peak_bytes],
            "evaluations": ledger.used,
            "wall_seconds": wall_seconds,
            "lower_bound_us": self.lower_bound_us,
            "device_of_group": [*split.device_of_group],
            "parts": [[*devices] for devices in split.parts],
            **answer_to_json(
                problem,
                levels,
                answer,
                self.request.prefer,
                self.baselines,
                self.refusal,
                None if in_stream is None else in_stream.batch,
                self.placed.samples,
            ),
            **({} if in_stream is None else stream_fields(problem, in_stream, self.placed.samples)),
            **self._proof(float(evaluation.step_time_us[0]), in_stream),
            **judgements,
            **self._error_band(float(evaluation.step_time_us[0])),
            **self._given(),
            **({"ended_by": self.ended_by} if self.ended_by else {}),
        }

    def _answer(self, *, stopped: bool) -> tuple[NDArray[np.int32], dict[str, Json]]:
        """The answer [units], and what the report says of why it is the answer."""
        ledger = self.placed.problem.ledger
        if not ledger.good:
            return ledger.answer(), {}
        good = ledger.good.placements()
        robust = judged(self.placed.problem, good, choose=True) if self.request.robust else None
        own = good[0] if robust is None else robust.placement
        answer, chosen = self._chosen(with_first(own, good), stopped=stopped)
        if robust is not None and np.array_equal(answer, own):
            return answer, {"robustness": robust.robustness.to_json(), **chosen}
        if self.request.robust or self.request.robustness:
            chosen = {"robustness": self._robustness(answer, good).to_json(), **chosen}
        return answer, chosen

    def _chosen(self, good: NDArray[np.int32], *, stopped: bool) -> tuple[NDArray[np.int32], dict[str, Json]]:
        """The answer among the `good` placements [candidates, units], the run's own first, and the choice's fields."""
        if self.choose is None or stopped:
            return good[0], {}
        simulator = self.placed.problem.simulator
        choice = self.choose(good[:, simulator.group_of_op], simulator.evaluate(good).step_time_us)
        return good[choice.index], choice.report

    def _robustness(self, answer: NDArray[np.int32], good: NDArray[np.int32]) -> Robustness:
        """Of the `answer` [units] among the `good` placements [candidates, units], the fastest first."""
        found = judged(self.placed.problem, with_first(answer, good), choose=False).robustness
        fastest_us = float(self.placed.problem.simulator.evaluate(good[:1]).step_time_us[0])
        return dataclasses.replace(found, fastest_step_time_us=fastest_us)

    def _given(self) -> dict[str, Json]:
        """What the report says of the request's start and pins; nothing without them."""
        given: dict[str, Json] = {}
        if self.placed.problem.context.start is not None:
            evaluation = self.placed.problem.simulator.evaluate(self.placed.problem.context.start[None, :])
            given["start_step_time_us"] = float(evaluation.step_time_us[0])
        if self.request.pins:
            given["pinned_groups"] = len(self.request.pins)
        return given

    def _error_band(self, step_time_us: float) -> dict[str, Json]:
        """On a cluster that was measured: the step times between which a real step is expected; nothing on another."""
        calibration = self.request.cluster.calibration
        band = None if calibration is None else calibration.error_band
        if calibration is None or band is None:
            return {}
        return {
            "error_band": {
                "low_us": step_time_us * band.low,
                "middle_us": step_time_us * band.value,
                "high_us": step_time_us * band.high,
                "machine": calibration.machine,
                "date": calibration.date,
            }
        }

    def _proof(self, time_us: float, in_stream: StreamAnswer | None) -> dict[str, Json]:
        """What is proven of the answer, whose step or period takes `time_us`; nothing where nothing is."""
        fits = self.placed.problem.ledger.best_step_time_us is not None
        if in_stream is not None:
            fits = in_stream.missing_bytes == 0
        batch_time_us = None if in_stream is None else in_stream.batch.batch_time_us
        proof = proof_of(self.placed.problem, self.lower_bound_us, time_us, batch_time_us) if fits else None
        return {} if proof is None else {"proven": True, "proof": proof.to_json()}

    def _policy_fit(self) -> dict[str, Json]:
        """A sentence for each trait of the problem outside of the policy's training; nothing without a policy."""
        if self.request.policy is None:
            return {}
        outside = beyond_training(self.request.policy.trained, self.placed.problem)
        left_out = is_far(outside) or bool(self.placed.problem.apart)
        left_out = left_out and PLACERS[self.request.method].leaves_out_policies
        return {"policy_beyond": [each.sentence for each in outside], "policy_left_out": left_out}
