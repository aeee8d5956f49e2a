"""One run: baselines, trivial placements, the method and its report, with numbered events and checkpoints."""

import copy
from collections.abc import Mapping
from typing import Any

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
from engine.files.archive import fields_of, from_fields, pack, unpack
from engine.placers.placer import resumable
from engine.placers.policy_passes import load_network
from engine.placers.registry import PLACERS, settings_of
from engine.prepared import PreparedGraph
from engine.problem import LedgerState
from engine.problem.good_batches import GoodBatches
from engine.problem.good_placements import GoodPlacements
from engine.problem.memory_floor import require_room
from engine.problem.step_timer import StepTimer
from engine.problem.trivial import one_device_placements
from engine.run.baselines import baseline_budget, baseline_of, shortage
from engine.run.problem import RunProblem
from engine.run.report import Choose, RunReport
from engine.run.request import TRIVIAL_BASELINES, RunRequest
from engine.search.symmetry import interchangeable_devices
from engine.simulator.streams.stream import Pipeline, Stream, is_contiguous


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
        if choose is not None and request.stream is not None:
            raise SettingsError("streams are not measured", where="measure", allowed="objective step_time")
        self._request, self._emit, self._should_stop, self._choose = request, emit, should_stop, choose
        self._placer = copy.copy(request.placer)
        self._run_problem = RunProblem(prepared, request, self._emit_from_placer, timer)
        self._problem = self._run_problem.problem
        problem = self._problem
        if request.stream is not None:
            problem.ledger.good = GoodBatches(interchangeable_devices(problem), problem.simulator, problem.memory_bytes)
        elif request.robust or request.robustness or choose is not None:
            problem.ledger.good = GoodPlacements(interchangeable_devices(problem))
        self._report = RunReport(request, self._run_problem, self._placer, self._problem.lower_bound_us, choose)
        self._seq = 0
        self._stopped = False

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
        if self._request.policy is not None:
            load_network()  # these seconds are no part of the run's budget
        if checkpoint is None:
            self._emit_event(self._started())
            self._require_room()
            self._emit_baselines()
            self._problem.context.begin()  # the baselines do not count in the run's budget, in seconds either
        else:
            self._restore(checkpoint)
        self._search(rng, anew=checkpoint is None)
        report = self.report()
        self._check_feasible(report)
        if not self._stopped:
            self._emit_event(Finished(report))
        return report

    def _require_room(self) -> None:
        try:
            require_room(self._problem, units_are_groups=not self._run_problem.levels)
        except InfeasibleError as error:
            self._report.refusal = error.what
            raise

    def _search(self, rng: np.random.Generator, *, anew: bool) -> None:
        """Let the method place; where step times cannot be measured any more, it ends with what it has found."""
        try:
            if anew:
                self._evaluate_start()
                self._evaluate_one_device()
            if not self._problem.ledger.spent:
                self._placer.place(self._problem, rng, self._must_stop)
        except MeasuringError as error:
            if self._problem.ledger.best_step_time_us is None:
                raise
            self._report.ended_by = str(error)

    def report(self) -> dict[str, Json]:
        """The report of what the run has found so far."""
        return self._report.to_json(stopped=self._stopped)

    def _simple_placement(self) -> NDArray[np.int32]:
        """[0 or 1, ops] a placement on one device, or the request's start: the first of them that fits in memory."""
        problem = self._problem
        simple = one_device_placements(problem)
        if problem.context.start is not None:
            simple = np.concatenate([simple, problem.context.start[None, :]])
        fits = problem.feasible(problem.simulator.evaluate(simple))
        return simple[fits][:1, problem.simulator.group_of_op]

    def closest(self) -> dict[str, Json] | None:
        """The report of the placement that misses the least memory; None unless all evaluated ones miss some.

        Of the single devices, where the run was refused before its search.
        """
        problem, ledger = self._problem, self._problem.ledger
        if self._report.refusal and not ledger.used:
            problem.evaluate(one_device_placements(problem)[: ledger.remaining])
        return self.report() if ledger.best_placement is not None and ledger.best_step_time_us is None else None

    def _started(self) -> Started:
        return Started(
            method=self._request.method,
            settings=settings_of(self._placer),
            seed=self._request.seed,
            evaluations=self._request.budget.evaluations,
            groups=self._run_problem.shown_count,
            devices=[device.name for device in self._request.cluster.devices],
            lower_bound_us=self._report.lower_bound_us,
            engine_version=VERSION,
            policy=self._report.policy_name(),
            levels=self._run_problem.levels.group_counts,
        )

    def _emit_baselines(self) -> None:
        """Evaluate the baselines, each on a ledger of its own."""
        budget = baseline_budget(self._problem)
        for method in self._request.baselines:
            if self._must_stop():
                return
            if is_contiguous(self._request.stream) and not PLACERS[method].keeps_contiguous:
                continue
            of_groups = self._run_problem.of_groups
            if isinstance(of_groups, str):
                baseline = Baseline(method, None, None, 0, of_groups)
            elif of_groups.apart and not PLACERS[method].keeps_apart:
                baseline = Baseline(method, None, None, 0, "it cannot keep ops apart")
            else:
                baseline = baseline_of(method, of_groups, budget, self._request.seed, self._must_stop)
            self._report.baselines[method] = baseline.step_time_us
            self._emit_event(baseline)

    def _evaluate_start(self) -> None:
        """Evaluate the request's start as the first episode: the answer is never worse."""
        if self._problem.context.start is not None:
            self._problem.evaluate_episodes(self._problem.context.start[None, :], emit_all=True)

    def _evaluate_one_device(self) -> None:
        """Evaluate the single devices and charge them to the run: its answer is never slower than one device."""
        if self._request.method not in TRIVIAL_BASELINES and self._problem.ledger.remaining:
            self._problem.evaluate(one_device_placements(self._problem)[: self._problem.ledger.remaining])

    def _must_stop(self) -> bool:
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
            {"seq": self._seq, "baselines": dict(self._report.baselines), **texts},
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
        self._report.baselines = dict(baselines)
        self._problem.ledger.restore(from_fields(LedgerState, arrays, texts))
        resumable(self._placer).resume(arrays["placer"].tobytes())

    def _check_feasible(self, report: Mapping[str, Json]) -> None:
        if self._problem.stream is not None and self._problem.ledger.used and not report["feasible"]:
            verdict: Any = report["verdict"]
            raise InfeasibleError(
                f"no batch fits in memory ({self._problem.ledger.used:,} placements searched): {verdict['sentence']}",
                advice=_advice_for_batches(self._problem.stream),
            )
        if self._problem.ledger.best_step_time_us is None:
            raise InfeasibleError(
                f"none of the placements fits in memory ({self._problem.ledger.used:,} evaluated): "
                f"the closest needs {shortage(self._problem)}",
                advice=self._memory_advice(),
            )

    def _memory_advice(self) -> str:
        """What may help where no evaluated placement fits: more evaluations only if the method would use them."""
        advice = "use more or larger devices"
        if self._problem.ledger.spent:
            return f"{advice}, or allow more evaluations"
        return advice if self._request.method == "auto" else f"{advice}, or the method auto, which searches longer"


def _advice_for_batches(stream: Stream) -> str:
    """What may help where no batch fits."""
    again = "" if stream.recomputes or stream.pipeline is Pipeline.INFERENCE else "recomputation, "
    return f"use more or larger devices, {again}or fewer or smaller micro-batches"
