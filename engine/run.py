"""One run: baselines, trivial placements, the method and its report, with numbered events and checkpoints."""

import copy
import dataclasses
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine import VERSION
from engine.errors import InfeasibleError, MeasuringError, SettingsError
from engine.events import (
    Baseline,
    Checkpoint,
    Emit,
    Event,
    Finished,
    FromPlacer,
    Json,
    LearnedPolicy,
    NumberedEvent,
    PlacerState,
    ShouldStop,
    Started,
)
from engine.explaining.answer import told_of_answer
from engine.explaining.verdict import shortage_words
from engine.files.archive import fields_of, from_fields, pack, unpack
from engine.placers.placer import Placer, ResumablePlacer
from engine.placers.policy_passes import beyond_training, load_network
from engine.placers.registry import PLACERS, make_placer, settings_of
from engine.policies.traits import is_far
from engine.prepared import PreparedGraph
from engine.problem import Budget, LedgerState, PlacementProblem
from engine.problem.good_placements import GoodPlacements
from engine.problem.memory_floor import require_room
from engine.problem.robustness import Robustness, judged
from engine.problem.step_timer import StepTimer
from engine.problem.trivial import one_device_placements
from engine.run_request import TRIVIAL_BASELINES, RunProblem, RunRequest
from engine.search.symmetry import interchangeable_devices
from engine.simulator.bound import lower_bound_us

MOST_RANDOM_EVALUATIONS = 10_000
"""most evaluations of the random baseline, beyond which its best hardly changes"""
MOST_RANDOM_WORK = 10_000_000
"""most simulated ops and edges of the random baseline, a second or two, so that large graphs do not delay the method"""
BASELINE_SHARE = 0.05
"""share of a budget of seconds that each baseline may spend in addition, so that users wait little longer"""


MOST_RANDOM_MEASURED = 10
"""the same where step times are measured, which takes seconds each"""


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The answer among a run's good placements, chosen by other figures than simulated ones."""

    index: int
    """of the placement"""
    told: dict[str, Json]
    """fields for the report"""


class Choose(Protocol):
    """Chooses a run's answer when the method has ended."""

    def check(self, device_of_op: NDArray[np.int32]) -> None:
        """Raise before the run what the choice would; `device_of_op` [0 or 1, ops]: a placement that fits, if known."""
        ...

    def __call__(self, device_of_op: NDArray[np.int32], simulated_us: NDArray[np.float64]) -> Choice:
        """`device_of_op` [placements, ops]: the good ones, the run's own answer first; `simulated_us` [placements]."""
        ...


class Run:
    """Carries out one `RunRequest`; `execute` may be called once."""

    def __init__(
        self,
        prepared: PreparedGraph,
        request: RunRequest,
        emit: Emit,
        should_stop: ShouldStop,
        *,
        timer: StepTimer | None = None,
        choose: Choose | None = None,
    ) -> None:
        """`timer` takes all step times in place of the simulator; `choose` chooses the answer among good placements.

        Raises as `RunProblem`.
        """
        self._request, self._emit, self._should_stop, self._choose = request, emit, should_stop, choose
        self._policy = None if request.policy is None else request.policy.trained
        self._placer = copy.copy(request.placer)
        placed = RunProblem(prepared, request, self._emit_from_placer, timer)
        self._problem, self._of_groups, self._levels = placed.problem, placed.of_groups, placed.levels
        if request.robust or request.robustness or choose is not None:
            self._problem.ledger.good = GoodPlacements(interchangeable_devices(self._problem))
        self._lower_bound_us = lower_bound_us(prepared.graph, prepared.costs, request.cluster)
        self._baselines: dict[str, float | None] = {}
        """method → its best step time in µs, of those evaluated so far"""
        self._seq = 0
        self._stopped = False
        self._ended_by = ""
        """why the method ended before its budget was spent"""
        self._refusal = ""
        """why no placement can fit in memory, where that was known before the search"""

    def execute(self, checkpoint: bytes | None) -> dict[str, Json]:
        """Run to the end or until `should_stop`; returns the report. Raises InfeasibleError, see `engine.api.place`.

        What no placement can fit in memory is refused before the search.
        """
        try:
            return self._executed(checkpoint)
        except InfeasibleError as error:
            closest = self.closest()
            if closest is not None:
                error.verdict = closest["verdict"]  # type: ignore[assignment]  # an object of a report
            raise

    def _executed(self, checkpoint: bytes | None) -> dict[str, Json]:
        rng = np.random.default_rng(self._request.seed)
        if self._choose is not None:
            self._choose.check(self._simple_placement())
        if self._policy is not None:
            load_network()  # these seconds are no part of the run's budget
        if checkpoint is None:
            self._emit_event(self._started())
            self._require_room()
            self._emit_baselines()
            self._problem.begin()  # the baselines do not count in the run's budget, in seconds either
        else:
            self._restore(checkpoint)
        self._search(rng, anew=checkpoint is None)
        report = self.report()
        self._check_feasible()
        if not self._stopped:
            self._emit_event(Finished(report))
        return report

    def _require_room(self) -> None:
        try:
            require_room(self._problem, units_are_groups=not self._levels)
        except InfeasibleError as error:
            self._refusal = error.what
            raise

    def _search(self, rng: np.random.Generator, *, anew: bool) -> None:
        """Let the method place; where step times cannot be measured any more, it ends with what it has found."""
        try:
            if anew:
                self._evaluate_start()
                self._evaluate_one_device()
            if not self._problem.ledger.spent:
                self._placer.place(self._problem, rng, self._looked_at_stop)
        except MeasuringError as error:
            if self._problem.ledger.best_step_time_us is None:
                raise
            self._ended_by = str(error)

    def report(self) -> dict[str, Json]:
        """The report of docs/formats.md, with the placement by groups and their parts."""
        ledger = self._problem.ledger
        wall_seconds = ledger.elapsed_seconds
        answer, judgements = self._answer()
        evaluation, told = self._problem.simulator.evaluate(answer[None, :]), self._levels.told(answer)
        return {
            "method": self._request.method,
            "seed": self._request.seed,
            "settings": settings_of(self._placer),
            "policy": self._policy_name(),
            **self._policy_fit(),
            "engine_version": VERSION,
            "step_time_us": float(evaluation.step_time_us[0]),
            "feasible": ledger.best_step_time_us is not None,
            "peak_bytes": [int(peak) for peak in evaluation.peak_bytes[0]],
            "evaluations": ledger.used,
            "wall_seconds": wall_seconds,
            "lower_bound_us": self._lower_bound_us,
            "device_of_group": [*told.device_of_group],
            "parts": [[*devices] for devices in told.parts],
            **told_of_answer(self._problem, self._levels, answer, self._request.prefer, self._baselines, self._refusal),
            **judgements,
            **self._error_band(float(evaluation.step_time_us[0])),
            **self._given(),
            **({"ended_by": self._ended_by} if self._ended_by else {}),
        }

    def _simple_placement(self) -> NDArray[np.int32]:
        """[0 or 1, ops] a placement on one device, or the request's start: the first of them that fits in memory."""
        problem = self._problem
        simple = one_device_placements(problem)
        if problem.start is not None:
            simple = np.concatenate([simple, problem.start[None, :]])
        fits = problem.feasible(problem.simulator.evaluate(simple))
        return simple[fits][:1, problem.simulator.group_of_op]

    def _answer(self) -> tuple[NDArray[np.int32], dict[str, Json]]:
        """The answer [units], and what the report says of why it is the answer."""
        ledger = self._problem.ledger
        if not ledger.good:
            return ledger.answer(), {}
        good = ledger.good.placements()
        robust = judged(self._problem, good, choose=True) if self._request.robust else None
        own = good[0] if robust is None else robust.placement
        answer, told = self._chosen(_with_first(own, good))
        if robust is not None and np.array_equal(answer, own):
            return answer, {"robustness": robust.robustness.to_json(), **told}
        if self._request.robust or self._request.robustness:
            told = {"robustness": self._robustness(answer, good).to_json(), **told}
        return answer, told

    def _chosen(self, good: NDArray[np.int32]) -> tuple[NDArray[np.int32], dict[str, Json]]:
        """The answer among the `good` placements [candidates, units], the run's own first, and what is told of it."""
        if self._choose is None or self._stopped:
            return good[0], {}
        simulator = self._problem.simulator
        choice = self._choose(good[:, simulator.group_of_op], simulator.evaluate(good).step_time_us)
        return good[choice.index], choice.told

    def _robustness(self, answer: NDArray[np.int32], good: NDArray[np.int32]) -> Robustness:
        """Of the `answer` [units] among the `good` placements [candidates, units], the fastest first."""
        found = judged(self._problem, _with_first(answer, good), choose=False).robustness
        fastest_us = float(self._problem.simulator.evaluate(good[:1]).step_time_us[0])
        return dataclasses.replace(found, fastest_step_time_us=fastest_us)

    def _given(self) -> dict[str, Json]:
        """What the report says of the request's start and pins; nothing without them."""
        given: dict[str, Json] = {}
        if self._problem.start is not None:
            evaluation = self._problem.simulator.evaluate(self._problem.start[None, :])
            given["start_step_time_us"] = float(evaluation.step_time_us[0])
        if self._request.pins:
            given["pinned_groups"] = len(self._request.pins)
        return given

    def _error_band(self, step_time_us: float) -> dict[str, Json]:
        """On a cluster that was measured: the step times between which a real step is expected; nothing on another."""
        calibration = self._request.cluster.calibration
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

    def closest(self) -> dict[str, Json] | None:
        """The report of the placement that misses the least memory; None unless all evaluated ones miss some.

        Of the single devices, where the run was refused before its search.
        """
        problem, ledger = self._problem, self._problem.ledger
        if self._refusal and not ledger.used:
            problem.evaluate(one_device_placements(problem)[: ledger.remaining])
        return self.report() if ledger.best_placement is not None and ledger.best_step_time_us is None else None

    def _started(self) -> Started:
        return Started(
            method=self._request.method,
            settings=settings_of(self._placer),
            seed=self._request.seed,
            evaluations=self._request.budget.evaluations,
            groups=self._of_groups.group_count,
            devices=[device.name for device in self._request.cluster.devices],
            lower_bound_us=self._lower_bound_us,
            engine_version=VERSION,
            policy=self._policy_name(),
            levels=self._levels.group_counts,
        )

    def _policy_name(self) -> str | None:
        """The name on the policy's card; None without a policy."""
        return None if self._policy is None else self._policy.card.name

    def _policy_fit(self) -> dict[str, Json]:
        """A sentence for each trait of the problem outside of the policy's training; nothing without a policy."""
        if self._policy is None:
            return {}
        outside = beyond_training(self._policy, self._problem)
        left_out = PLACERS[self._request.method].leaves_out_policies and is_far(outside)
        return {"policy_beyond": [each.sentence for each in outside], "policy_left_out": left_out}

    def _emit_baselines(self) -> None:
        """Evaluate the baselines, each on a ledger of its own with the budget of `_baseline_budget`."""
        for method in self._request.baselines:
            if self._looked_at_stop():
                return
            baseline = self._baseline(method)
            self._baselines[method] = baseline.step_time_us
            self._emit_event(baseline)

    def _baseline(self, method: str) -> Baseline:
        problem = self._of_groups.with_budget(self._baseline_budget())
        rng = np.random.default_rng(self._request.seed)
        note = ""
        try:
            make_placer(method, {}).place(problem, rng, self._looked_at_stop)
        except (InfeasibleError, MeasuringError) as error:
            note = error.what
        ledger = problem.ledger
        told = Baseline(method, None, None, ledger.used, note, wall_seconds=ledger.elapsed_seconds)
        if note:
            return told
        told = dataclasses.replace(told, mean_step_time_us=ledger.mean_step_time_us)
        if ledger.best_step_time_us is None:
            return dataclasses.replace(told, note=f"does not fit in memory: it needs {_shortage(problem)}")
        answer = ledger.answer()
        peak_bytes = problem.simulator.evaluate(answer[None, :]).peak_bytes[0].tolist()
        best = {"step_time_us": ledger.best_step_time_us, "placement": answer.tolist(), "peak_bytes": peak_bytes}
        return dataclasses.replace(told, **best)

    def _baseline_budget(self) -> Budget:
        """A baseline's budget: the run's evaluations, limited to a second or two of work, and a share of its seconds.

        So the random baseline may have fewer evaluations than the method; its event holds the number. It depends on a
        clock only if the run has a budget of seconds.
        """
        graph, budget = self._problem.graph, self._request.budget
        for_work = max(1, MOST_RANDOM_WORK // (graph.op_count + graph.edge_count))
        evaluations = min(budget.evaluations, MOST_RANDOM_EVALUATIONS, for_work)
        if self._problem.timer is not None:
            evaluations = min(evaluations, MOST_RANDOM_MEASURED)
        return Budget(evaluations, None if budget.seconds is None else BASELINE_SHARE * budget.seconds)

    def _evaluate_start(self) -> None:
        """Evaluate the request's start as the first episode: the answer is never worse."""
        if self._problem.start is not None:
            self._problem.evaluate_episodes(self._problem.start[None, :], emit_all=True)

    def _evaluate_one_device(self) -> None:
        """Evaluate the single devices and charge them to the run: its answer is never slower than one device."""
        if self._request.method not in TRIVIAL_BASELINES and self._problem.ledger.remaining:
            self._problem.evaluate(one_device_placements(self._problem)[: self._problem.ledger.remaining])

    def _looked_at_stop(self) -> bool:
        self._stopped = self._stopped or self._should_stop()
        return self._stopped

    def _emit_event(self, event: Event) -> None:
        self._seq += 1
        self._emit(NumberedEvent(self._seq, event))

    def _emit_from_placer(self, event: FromPlacer) -> None:
        if isinstance(event, PlacerState):
            self._emit(Checkpoint(self._seq, self._checkpoint(event.state)))
        elif isinstance(event, LearnedPolicy):
            self._emit(event)
        else:
            self._emit_event(event)

    def _checkpoint(self, placer_state: bytes) -> bytes:
        arrays, texts = fields_of(self._problem.ledger.state())
        return pack(
            {"placer": np.frombuffer(placer_state, np.uint8), **arrays},
            {"seq": self._seq, "baselines": dict(self._baselines), **texts},
        )

    def _restore(self, checkpoint: bytes) -> None:
        arrays, texts = unpack(checkpoint)
        if "ledger" in texts:
            what, allowed = "it was saved by an earlier version", "start the run again"
            raise SettingsError(what, where="the saved state", allowed=allowed)
        seq = texts["seq"]
        assert isinstance(seq, int)
        self._seq = seq
        baselines: Any = texts.get("baselines", {})  # of version 0.2.0 and earlier: none
        self._baselines = dict(baselines)
        self._problem.ledger.restore(from_fields(LedgerState, arrays, texts))
        resumable(self._placer).resume(arrays["placer"].tobytes())

    def _check_feasible(self) -> None:
        if self._problem.ledger.best_step_time_us is None:
            raise InfeasibleError(
                f"none of the placements fits in memory ({self._problem.ledger.used:,} evaluated): "
                f"the closest needs {_shortage(self._problem)}",
                advice=self._memory_advice(),
            )

    def _memory_advice(self) -> str:
        """What may help where no evaluated placement fits: more evaluations only if the method would use them."""
        advice = "use more or larger devices"
        if self._problem.ledger.spent:
            return f"{advice}, or allow more evaluations"
        return advice if self._request.method == "auto" else f"{advice}, or the method auto, which searches longer"


def resumable(placer: Placer) -> ResumablePlacer:
    """`placer` as a ResumablePlacer, since it has emitted a state."""
    assert hasattr(placer, "resume"), "a placer emitted a state but has no resume"
    return placer  # type: ignore[return-value]  # checked above


def _with_first(first: NDArray[np.int32], placements: NDArray[np.int32]) -> NDArray[np.int32]:
    """The `placements` [candidates, units], with one of them, `first` [units], before the others."""
    return np.concatenate([first[None, :], placements[(placements != first).any(axis=1)]])


def _shortage(problem: PlacementProblem) -> str:
    """What the placement that misses the least memory misses: `2.34 GiB more than the 1.00 GiB of GPU 0`."""
    evaluation = problem.simulator.evaluate(problem.ledger.answer()[None, :])
    return shortage_words(evaluation.peak_bytes[0] - problem.memory_bytes, problem.cluster)
