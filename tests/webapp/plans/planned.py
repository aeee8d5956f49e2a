"""An engine that plans as a test says, and reports as they are stored."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from engine import api
from webapp.plans.models import PlanReport, PlanSearch
from webapp.plans.requests import model_of, request_of

CLUSTER_TEXT = "2xK80"
PROGRESS = api.Progress("searching", 1, 3)


def told(batch_time_us: float, *, is_best: bool = True, usual: str | None = None) -> api.PlanFound:
    """A plan of one replica."""
    replicas: list[dict[str, api.Json]] = [{"devices": [0], "micro_batch": 2, "micro_batches": 4, "turns": []}]
    return api.PlanFound(batch_time_us, 8e6 / batch_time_us, [5, 0], replicas, is_best, usual)


@dataclass
class PlanScript:
    """These events, then the report."""

    events: list[api.PlanFound | api.Progress] = field(default_factory=lambda: [PROGRESS, told(9.0), told(4.0)])
    before_end: Callable[[api.ShouldStop], None] = lambda _should_stop: None
    error: Exception | None = None
    calls: int = 0

    def plan(
        self, _model: object, _request: object, emit: api.Emit, should_stop: api.ShouldStop
    ) -> dict[str, api.Json]:
        """In the place of `api.plan`."""
        self.calls += 1
        for number, event in enumerate(self.events, 1):
            emit(api.NumberedEvent(number, event))
        self.before_end(should_stop)
        if self.error is not None:
            raise self.error
        report: dict[str, api.Json] = {"stopped": should_stop()}
        if not should_stop():
            emit(api.NumberedEvent(len(self.events) + 1, api.Finished(report)))
        return report


def install(monkeypatch: pytest.MonkeyPatch, script: PlanScript) -> PlanScript:
    """Plan by `script`."""
    monkeypatch.setattr(api, "plan", script.plan)
    return script


def planned(search: PlanSearch) -> dict[str, Any]:
    """Search in this process, store the report and end the search; returns the report."""
    report: Any = api.plan(model_of(search), request_of(search), lambda _: None)
    PlanReport.objects.create(search=search, content=report)
    PlanSearch.objects.filter(id=search.id).update(status=PlanSearch.DONE)
    search.refresh_from_db()
    return {**report}
