"""What a search for plans tells while it works, and how it is stopped."""

import pytest

from engine.errors import InfeasibleError
from engine.events import Emitted, Event, Finished, NumberedEvent, PlanFound, Progress
from engine.plans import told
from engine.plans.plan import PlanRules
from engine.plans.report import found_line, plan_report
from engine.plans.request import PlanRequest
from engine.plans.search import PlanSearch
from engine.plans.simulated import PlanSimulator
from engine.plans.usual import SHARDED
from engine.simulator.streams.stream import Pipeline
from tests.engine.plans.drawn_plans import all_divided, drawn_case, one_gradient

RULES = PlanRules(Pipeline.ONE_F_ONE_B)
BATCH = 8


class Listener:
    """Keeps the events of a search."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, item: Emitted) -> None:
        """Keep an event. Its number is the next one."""
        assert isinstance(item, NumberedEvent) and item.seq == len(self.events) + 1
        assert NumberedEvent.from_json(item.to_json()) == item
        self.events.append(item.event)

    def plans(self) -> list[PlanFound]:
        """The plans told."""
        return [event for event in self.events if isinstance(event, PlanFound)]


def test_usual_and_better_plans_are_told_and_the_report_last() -> None:
    model, cluster = one_gradient(1)
    listener = Listener()
    report = plan_report(model, PlanRequest(cluster, BATCH, RULES), listener.emit)
    plans = listener.plans()
    better = [event.batch_time_us for event in plans if event.is_best]
    assert better == sorted(better, reverse=True) and better[-1] == min(event.batch_time_us for event in plans)
    best = report["plans"][0]  # type: ignore[index]  # a list
    assert best["batch_time_us"] == better[-1]  # type: ignore[index,call-overload]  # an object
    usual = report["usual"]
    assert isinstance(usual, dict)
    are_plans = [name for name, plan in usual.items() if plan and name != SHARDED]
    assert [event.usual for event in plans if event.usual] == are_plans
    assert listener.events[-1] == Finished(report) and report["stopped"] is False
    assert any(isinstance(event, Progress) and event.total > 1 for event in listener.events)
    assert found_line(plans[0]).endswith("s") and "replica" in found_line(plans[0])


def test_a_told_plan_has_its_replicas_in_short_and_the_memory_of_each_device() -> None:
    model, cluster = one_gradient(1)
    listener = Listener()
    plan_report(model, PlanRequest(cluster, BATCH, RULES), listener.emit)
    for event in listener.plans():
        assert len(event.peak_bytes) == cluster.device_count
        assert all(set(row) == {"devices", "micro_batch", "micro_batches", "turns"} for row in event.replicas)
        rows = [(row["micro_batch"], row["micro_batches"]) for row in event.replicas]
        assert sum(size * count for size, count in rows) == BATCH  # type: ignore[operator,misc]  # integers


def test_plans_that_are_no_better_are_told_in_turns_the_fastest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    model, cluster, batch = drawn_case(3)
    simulator = PlanSimulator(model, cluster, RULES)
    plans = sorted(map(simulator.simulate, all_divided(model, cluster, batch)), key=lambda plan: plan.batch_time_us)
    monkeypatch.setattr(told, "MOST_IN_A_TURN", 3)
    monkeypatch.setattr(told, "MOST_IN_TURNS", 4)
    listener = Listener()
    telling = told.PlansTold(listener.emit)
    telling.found(((0,),), plans[0])
    for number, plan in enumerate(plans[1:11]):
        telling.found(((number + 1,),), plan)
    assert len(listener.plans()) == 1
    telling.progress(1, 2)
    times = [event.batch_time_us for event in listener.plans()]
    assert times == [plan.batch_time_us for plan in plans[:4]]
    telling.found(((99,),), plans[5])
    telling.found(((98,),), plans[6])
    telling.end({}, stopped=True)
    assert len(listener.plans()) == 5 and not isinstance(listener.events[-1], Finished)


def test_a_stopped_search_reports_what_it_has() -> None:
    model, cluster = one_gradient(1)
    listener = Listener()
    report = plan_report(model, PlanRequest(cluster, BATCH, RULES), listener.emit, lambda: True)
    assert report["stopped"] is True and report["not_reached"] and report["plans"]
    assert not any(isinstance(event, Finished) for event in listener.events)


def test_a_search_that_is_stopped_before_any_plan_says_so() -> None:
    model, cluster, batch = drawn_case(3)
    with pytest.raises(InfeasibleError, match="before the stop"):
        PlanSearch(model, PlanRequest(cluster, batch, RULES), should_stop=lambda: True).run()


def test_a_search_stops_in_the_middle_of_a_division() -> None:
    model, cluster, batch = drawn_case(3)
    asked = iter([False, False, True])
    found = PlanSearch(model, PlanRequest(cluster, batch, RULES), should_stop=lambda: next(asked, True)).run()
    assert found.stopped and found.simulated == 1
