"""What plans cost, by closed forms."""

import dataclasses
from typing import Any

import pytest

from engine.clusters.cluster import with_prices
from engine.clusters.parsing import parse_cluster
from engine.plans.plan import PlanRules
from engine.plans.report import plan_lines, plan_report
from engine.plans.request import PlanRequest
from engine.simulator.streams.stream import Pipeline
from tests.engine.plans.layered_step import layered_model


def report(prices: dict[str, float]) -> dict[str, Any]:
    cluster = with_prices(parse_cluster("2xV100+K80"), prices)
    rules = PlanRules(Pipeline.ONE_F_ONE_B)
    return plan_report(layered_model(), PlanRequest(cluster, 8, rules, seconds=5), lambda _: None)


def used_by(plan: dict[str, Any]) -> set[int]:
    rows = plan["replicas"]
    return {device for row in rows for devices in (row["device_of_group"], *row["turns"]) for device in devices}


def test_a_plan_costs_the_hours_of_the_devices_that_it_uses() -> None:
    found = report({"V100": 3.0, "K80": 0.5})
    for plan in [*found["plans"], *(each for name, each in found["usual"].items() if each and name != "sharded")]:
        used = used_by(plan)
        per_hour = 3.0 * len(used & {0, 1}) + 0.5 * len(used & {2})
        assert plan["price_per_hour"] == pytest.approx(per_hour)
        samples_an_hour = 3600 * plan["samples_per_second"]
        assert plan["price_per_million_samples"] == pytest.approx(per_hour / samples_an_hour * 1e6)
    best = found["plans"][0]
    words = f"{best['price_per_hour']:.4g} an hour, {best['price_per_million_samples']:.4g} a million samples"
    assert f"    {words}" in plan_lines(found)


def test_a_device_without_a_price_leaves_the_price_of_its_plans_open() -> None:
    found = report({"V100": 3.0})
    for plan in found["plans"]:
        used = used_by(plan)
        assert (plan["price_per_hour"] is None) == (2 in used) == (plan["price_per_million_samples"] is None)


def test_a_device_with_a_price_is_the_same_device() -> None:
    priced = with_prices(parse_cluster("V100"), {"V100": 1.0}).devices[0]
    assert dataclasses.replace(priced, price_per_hour=None) == parse_cluster("V100").devices[0]
