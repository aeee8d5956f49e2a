"""Measures the placements of a queued measurement: calls `engine.api.measure_many`, which runs the graph in children.

Its rounds are kept in a file, so that another attempt goes on after the last finished one.
"""

import uuid
from pathlib import Path

from engine import api
from webapp.jobs.engine_work import NO_STAGE, EngineWork, carry_out
from webapp.measuring.models import StepMeasurement
from webapp.measuring.profiling import limits


class RoundReport:
    """Reports the progress and each finished round, after which the job may yield to others."""

    def __init__(self, engine_work: EngineWork[StepMeasurement], rounds_path: Path) -> None:
        self._work, self._path = engine_work, rounds_path
        self._bytes = self._kept_bytes()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """The engine's `report_progress`. Raises ClaimLostError and TurnOverError."""
        kept_bytes = self._kept_bytes()
        if kept_bytes != self._bytes:
            self._bytes = kept_bytes
            self._work.saved()
        self._work.report_progress(stage, done, total)

    def _kept_bytes(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


def measure_placements(measurement_id: uuid.UUID) -> bool:
    """Claim the measurement and measure; False if it cannot be claimed."""
    return carry_out(StepMeasurement, measurement_id, _measure)


def _measure(engine_work: EngineWork[StepMeasurement]) -> None:
    claim = engine_work.claim
    measurement = StepMeasurement.objects.select_related("graph__prepared").get(id=claim.job_id)
    graph, cluster = measurement.graph, measurement.cluster_value
    prepared = graph.prepared.value
    options, rows = graph.own_options, measurement.placements.all()
    measurement.rounds_path.parent.mkdir(mode=0o700, exist_ok=True)
    report = api.measure_many(
        graph.source_path,
        graph.suffix,
        [{**api.placement_to_json(prepared, cluster, row.placement)} for row in rows],
        options.reading,
        limits(),
        RoundReport(engine_work, measurement.rounds_path),
        cluster=cluster,
        kept=measurement.rounds_path,
        rounds=measurement.rounds,
        steps=measurement.steps,
        run_metadata=graph.times_path if graph.has_times and options.profile_kind is None else None,
        pulse=engine_work.pulse,
    )
    claim.end(StepMeasurement.DONE, result=report, **NO_STAGE)
