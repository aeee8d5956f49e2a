"""Plans of contiguous stages alone: the search beside all of them."""

import dataclasses

import pytest

from engine.plans.plan import PlanRules
from engine.plans.request import PlanRequest
from engine.plans.search import PlanSearch
from engine.plans.simulated import PlanSimulator
from engine.simulator.streams.stream import Pipeline
from tests.engine.plans.drawn_plans import all_divided, drawn_case

FREE = PlanRules(Pipeline.ONE_F_ONE_B)
CONTIGUOUS = dataclasses.replace(FREE, contiguous=True)


def test_the_search_finds_the_best_of_all_contiguous_plans() -> None:
    refused = 0
    for seed in range(12):
        model, cluster, batch = drawn_case(seed)
        simulator = PlanSimulator(model, cluster, CONTIGUOUS)
        every = [simulator.simulate(plan) for plan in all_divided(model, cluster, batch)]
        best_us = min(plan.batch_time_us for plan in every if simulator.keeps_rules(plan))
        found = PlanSearch(model, PlanRequest(cluster, batch, CONTIGUOUS, seconds=60)).run().best[0]
        assert simulator.keeps_rules(found) and found.batch_time_us == pytest.approx(best_us), seed
        refused += sum(not simulator.keeps_rules(plan) for plan in every)
    assert refused > 100


def test_without_the_rule_every_plan_keeps_it() -> None:
    model, cluster, batch = drawn_case(0)
    simulator = PlanSimulator(model, cluster, FREE)
    assert all(simulator.keeps_rules(simulator.simulate(plan)) for plan in all_divided(model, cluster, batch))


@pytest.mark.parametrize("rules", [FREE, CONTIGUOUS])
def test_the_rule_is_written_and_read_back(rules: PlanRules) -> None:
    assert PlanRules.from_json(rules.to_json()) == rules
