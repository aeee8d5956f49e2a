"""What a worker does with a search for plans: its events, its report and its end come into the database."""

import pytest

from engine import api
from tests.supervisor.started import eventually
from tests.webapp.plans.planned import PlanScript, install, told
from webapp.jobs import cancelling, heartbeat, reaper
from webapp.jobs.claim import Claim
from webapp.plans.models import PlanReport, PlanSearch
from webapp.plans.searching import search_plans

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)


def kinds(search: PlanSearch) -> list[tuple[int, str]]:
    """(number, type) of its events."""
    return list(search.events.order_by("seq").values_list("seq", "type"))


def test_it_ends_with_its_events_and_its_report(search: PlanSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, PlanScript())
    assert search_plans(search.id)
    search.refresh_from_db()
    assert kinds(search) == [(1, "progress"), (2, "plan"), (3, "plan")]
    assert (search.status, search.error, search.best_batch_us, search.plans_told) == (PlanSearch.DONE, "", 4.0, 2)
    assert search.report.content == {"stopped": False} and search.finished_at is not None


def test_the_engine_searches_on_both_readings(search: PlanSearch) -> None:
    search_plans(search.id)
    search.refresh_from_db()
    report = search.report.content
    assert isinstance(report, dict) and search.status == PlanSearch.DONE, search.error
    assert report["read_at"] == [1, 2] and report["batch"] == 8
    best = report["plans"][0]  # type: ignore[index]  # a list
    assert best["batch_time_us"] == pytest.approx(search.best_batch_us)  # type: ignore[index,call-overload]  # an object


def test_a_cancelled_search_keeps_what_it_has_found(search: PlanSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancel(should_stop: api.ShouldStop) -> None:
        cancelling.cancel(search)
        eventually(should_stop, "the engine is asked to stop")

    install(monkeypatch, PlanScript(before_end=cancel))
    search_plans(search.id)
    search.refresh_from_db()
    assert search.status == PlanSearch.CANCELLED and search.report.content == {"stopped": True}
    assert kinds(search)[-1] == (3, "plan")


def test_a_search_that_is_cancelled_before_any_plan_is_no_failure(
    search: PlanSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel(should_stop: api.ShouldStop) -> None:
        cancelling.cancel(search)
        eventually(should_stop, "the engine is asked to stop")

    install(monkeypatch, PlanScript([], cancel, api.InfeasibleError("none before the stop")))
    search_plans(search.id)
    search.refresh_from_db()
    assert (search.status, search.error) == (PlanSearch.CANCELLED, "")
    assert not PlanReport.objects.exists()


def test_what_the_engine_refuses_is_the_one_line_of_a_failed_search(
    search: PlanSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, PlanScript(error=api.InfeasibleError("no plan fits in memory")))
    search_plans(search.id)
    search.refresh_from_db()
    assert search.status == PlanSearch.FAILED and "no plan fits in memory" in search.error
    assert kinds(search) == [(1, "progress"), (2, "plan"), (3, "plan")]


def test_without_its_second_reading_it_fails(search: PlanSearch) -> None:
    PlanSearch.objects.filter(id=search.id).update(second=None)
    search_plans(search.id)
    search.refresh_from_db()
    assert search.status == PlanSearch.FAILED and "second reading has been deleted" in search.error


def test_another_attempt_begins_anew_and_says_so(search: PlanSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, PlanScript(before_end=lambda _: _lose(search)))
    search_plans(search.id)
    search.refresh_from_db()
    assert search.status == PlanSearch.QUEUED
    stored = len(kinds(search))
    assert stored, "what the lost attempt had told is there"
    install(monkeypatch, PlanScript([told(7.0)]))
    search_plans(search.id)
    search.refresh_from_db()
    assert kinds(search)[stored:] == [(stored + 1, "again"), (stored + 2, "plan")]
    assert (search.status, search.best_batch_us, search.plans_told) == (PlanSearch.DONE, 7.0, 1)


def _lose(search: PlanSearch) -> None:
    """Give the search back once its events are stored, as a reaper does with that of a dead worker."""
    eventually(lambda: PlanSearch.objects.get(id=search.id).last_seq > 0, "the events are stored")
    row = PlanSearch.objects.get(id=search.id)
    assert row.claim is not None
    assert reaper.give_back(Claim(PlanSearch, row.id, row.claim), crashed=True)
