"""Stores what a search for plans emits: its events, the best batch so far, and its report."""

from collections.abc import Mapping
from functools import partial

from engine import api
from webapp.jobs.claim import Claim
from webapp.jobs.event_store import EventStore
from webapp.plans.models import PlanReport, PlanSearch

AGAIN: dict[str, api.Json] = {"type": "again", "version": 1}
"""the event with which another attempt begins: the plans before it are those of an attempt that was lost"""


class PlanStore(EventStore[PlanSearch]):
    """Keeps the events of a search, numbered through all attempts."""

    def __init__(self, claim: Claim[PlanSearch], search: PlanSearch) -> None:
        super().__init__(claim, search.last_seq)
        self._told = 0
        if search.last_seq:
            self._remember("again", AGAIN)
            self._batch.columns |= {"best_batch_us": None, "plans_told": 0}

    def emit(self, item: api.Emitted) -> None:
        """The engine's `emit`. The report of `Finished` is stored by `end_with`."""
        assert isinstance(item, api.NumberedEvent), "a search saves no state"
        if isinstance(item.event, api.Finished):
            return
        with self._memory:
            self._wait_for_room()
            self._remember(item.event.type, item.to_json())
            if isinstance(item.event, api.PlanFound):
                self._told += 1
                self._batch.columns["plans_told"] = self._told
                if item.event.is_best:
                    self._batch.columns["best_batch_us"] = item.event.batch_time_us

    def end_with(self, status: str, report: Mapping[str, api.Json] | None) -> None:
        """Store the rest, the report and the last status in one transaction."""
        if report is None:
            self.end(status)
        else:
            self.end(status, partial(_write_report, self._claim, {**report}))


def _write_report(claim: Claim[PlanSearch], report: dict[str, api.Json]) -> None:
    PlanReport.objects.update_or_create(search_id=claim.job_id, defaults={"content": report})
