"""Which devices to have: closed forms of a chain, and the answer beside all parts of drawn clusters."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from engine.clusters.cluster import Cluster, with_prices
from engine.clusters.parsing import parse_cluster
from engine.errors import InfeasibleError, SettingsError
from engine.formats.node_link.reader import read_nodelink
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.plans.by_batch import ModelByBatch, model_by_batch
from engine.plans.choice import Choosing, parts_of
from engine.plans.choice_report import cheapest_report, choice_lines, one_more_report
from engine.plans.plan import PlanRules
from engine.plans.request import PlanRequest
from engine.prepared import PreparedGraph
from engine.simulator.streams.stream import Pipeline
from tests.engine.plans.drawn_plans import drawn_case

SAMPLE_US = {"V100": 10.0, "K80": 20.0}
"""of both ops together"""
BATCH = 24


def model(persistent_bytes: int = 0, us_of_kind: Mapping[str, float] = SAMPLE_US) -> ModelByBatch:
    """Two ops whose times alone count, half of a sample's time each."""
    readings = []
    for batch in (1, 2):
        time_us = {kind: batch * us / 2 for kind, us in us_of_kind.items()}
        row = {"time_us": time_us, "output_bytes": [0], "persistent_bytes": persistent_bytes}
        value = {
            "graph": {"name": "two", "batch": batch},
            "nodes": [{"id": name, **row} for name in ("a", "b")],
            "edges": [{"source": "a", "target": "b"}],
        }
        graph, costs = read_nodelink(json.dumps(value).encode())
        readings.append(PreparedGraph(graph, costs, group_ops(graph, costs, None), Origin(".json", samples=batch)))
    return model_by_batch(readings)


def cluster(v100: int, k80: int, memory_bytes: int = 10**9) -> Cluster:
    """Devices that neither rest nor wait for a link."""
    kinds = ["V100"] * v100 + ["K80"] * k80
    rows = [
        {"name": f"/device:GPU:{index}", "kind": kind, "memory_bytes": memory_bytes} for index, kind in enumerate(kinds)
    ]
    links = {"contention": "none", "bandwidth_bytes_per_us": 1e12, "latency_us": 0, "rest_us": 0}
    return parse_cluster(json.dumps({"devices": rows, "links": links, "op_rest_us": 0}))


@pytest.mark.parametrize("seconds", [0.0, float("inf"), float("nan")])
def test_seconds_are_a_number_above_0(seconds: float) -> None:
    with pytest.raises(SettingsError, match="seconds; allowed: a number above 0"):
        dataclasses.replace(request_on(cluster(1, 0)), seconds=seconds)


def request_on(devices: Cluster, batch: int = BATCH) -> PlanRequest:
    return PlanRequest(devices, batch, PlanRules(Pipeline.INFERENCE), seconds=60)


def chosen(devices: Cluster, reach: float) -> dict[str, Any]:
    return cheapest_report(model(), request_on(devices), reach, lambda _: None)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_so_many_equal_cards_as_the_throughput_needs(count: int) -> None:
    rate = count * 1e6 / SAMPLE_US["V100"]
    report = chosen(cluster(4, 0), 0.999 * rate)
    assert report["parts"][-1]["kinds"] == ("V100" if count == 1 else f"{count}xV100")
    assert report["parts"][-1]["plan"]["samples_per_second"] == pytest.approx(rate)
    assert [part["plan"] is not None for part in report["parts"]] == [False] * (count - 1) + [True]
    assert [part["most_per_second"] for part in report["parts"]] == pytest.approx(
        [(index + 1) * 1e5 for index in range(count)], rel=1e-6
    )


@pytest.mark.parametrize(("price", "kinds"), [(1.0, "2xK80"), (2.0, "V100")])
def test_a_dear_fast_card_beside_two_cheap_ones(price: float, kinds: str) -> None:
    report = chosen(with_prices(cluster(2, 2), {"V100": 3.0, "K80": price}), 99_000)
    answer = report["parts"][-1]
    assert answer["kinds"] == kinds
    assert answer["price_per_hour"] == (2.0 if kinds == "2xK80" else 3.0) == answer["plan"]["price_per_hour"]
    assert answer["plan"]["price_per_million_samples"] == pytest.approx(answer["price_per_hour"] * 1e6 / 3600 / 1e5)
    prices = [part["price_per_hour"] for part in report["parts"]]
    assert prices == sorted(prices)
    first, second, line = choice_lines(report)
    assert first == f"{kinds} reaches 99000 samples a second: 1e+05 samples a second, {prices[-1]:.4g} an hour"
    assert "in the order of price" in second and "GPU:" in line


def test_without_prices_the_fewest_devices_and_it_is_said() -> None:
    report = chosen(cluster(2, 2), 99_000)
    assert report["parts"][-1]["kinds"] == "V100"
    assert "in the order of the number of devices, since no device has a price" in choice_lines(report)[1]


def test_what_no_part_reaches_is_infeasible_and_the_fastest_is_said() -> None:
    with pytest.raises(InfeasibleError, match="reach 500000 samples a second; no plan on any part can"):
        chosen(cluster(2, 2), 500_000)
    choosing = Choosing(model(), request_on(cluster(1, 1), batch=1), lambda _: None)
    with pytest.raises(InfeasibleError, match=r"reach 140000 samples a second; the fastest, V100\+K80, has 1e\+05"):
        choosing.cheapest(140_000)


def test_a_part_without_memory_is_passed_over() -> None:
    said: list[str] = []
    devices = cluster(4, 0, memory_bytes=150)
    report: dict[str, Any] = cheapest_report(model(persistent_bytes=100), request_on(devices), 50_000, said.append)
    assert [part["kinds"] for part in report["parts"]] == ["V100", "2xV100"]
    assert said[0] == "V100: no plan fits in memory" and said[1].startswith("2xV100: ")
    assert choice_lines(report)[1].endswith(": 2 by plans, 0 by bounds")


@pytest.mark.parametrize(("count", "kind"), [(1, "V100"), (2, "v100"), (3, "K80")])
def test_what_one_more_card_brings(count: int, kind: str) -> None:
    report: dict[str, Any] = one_more_report(model(), request_on(cluster(count, 1)), kind, lambda _: None)
    now, then = count * 1e5 + 5e4, count * 1e5 + 5e4 + 1e6 / SAMPLE_US[kind.upper()]
    assert report["kind"] == kind.upper() and report["then"]["devices"] == [*range(count + 2)]
    for row, most in ((report["now"], now), (report["then"], then)):
        assert row["most_per_second"] == pytest.approx(most)
        assert row["plan"]["samples_per_second"] <= most * (1 + 1e-9)
    assert report["gain"] == pytest.approx(
        report["then"]["plan"]["samples_per_second"] / report["now"]["plan"]["samples_per_second"] - 1
    )
    assert report["gain"] >= 0 and choice_lines(report)[1].endswith("% more")


def test_a_second_card_doubles_a_throughput_and_may_bring_the_memory() -> None:
    report: dict[str, Any] = one_more_report(model(), request_on(cluster(1, 0)), "V100", lambda _: None)
    assert report["gain"] == pytest.approx(1.0)
    assert choice_lines(report)[1] == "with one more V100, 2xV100: 2e+05 samples a second; 1e+05 or 100.0 % more"
    small = request_on(cluster(1, 0, memory_bytes=150))
    wider: dict[str, Any] = one_more_report(model(persistent_bytes=100), small, "V100", lambda _: None)
    assert wider["now"]["plan"] is None and wider["gain"] is None
    assert choice_lines(wider)[1].endswith("; before, no plan fits in memory")


def test_ops_that_take_no_time_have_no_gain_and_it_is_said() -> None:
    free = model(us_of_kind={"V100": 0.0, "K80": 20.0})
    for count, kind in ((1, "V100"), (0, "V100"), (1, "K80")):
        request = request_on(cluster(count, 1 - count))
        report: dict[str, Any] = json.loads(json.dumps(one_more_report(free, request, kind, lambda _: None)))
        assert report["gain"] is None and report["then"]["plan"]["samples_per_second"] is None
        assert choice_lines(report)[1].endswith("; a batch takes no time")


def test_cpus_stay_beside_gpus_and_vary_alone() -> None:
    parts = parts_of(parse_cluster("2xV100+cpu"))
    assert [part.devices for part in parts] == [(0, 2), (0, 1, 2)]
    assert [part.devices for part in parts_of(parse_cluster("2xcpu"))] == [(0,), (0, 1)]


def test_what_cannot_be_chosen_from_is_refused() -> None:
    priced = with_prices(cluster(2, 0), {"V100": 1.0})
    with pytest.raises(SettingsError, match="K80 has no price, and others have one"):
        parts_of(with_prices(cluster(1, 1), {"V100": 1.0}))
    half_priced = dataclasses.replace(priced.devices[0], price_per_hour=None), *priced.devices[1:]
    with pytest.raises(SettingsError, match="V100 has no price, and others have one"):
        parts_of(dataclasses.replace(priced, devices=half_priced))
    with pytest.raises(SettingsError, match="parts of the cluster; allowed: at most 10,000"):
        parts_of(parse_cluster("11xV100+11xK80+11xA100+11xH100"))
    for reach in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(SettingsError, match="samples a second; allowed: a number above 0"):
            chosen(cluster(1, 0), reach)


def two_kinds(seed: int) -> tuple[ModelByBatch, Cluster, int]:
    """A drawn case on GPUs of two kinds, with drawn prices."""
    drawn, devices, batch = drawn_case(seed)
    (prepared,) = drawn.readings
    costs = dataclasses.replace(prepared.costs, kinds=("K80", "V100"))
    kinds = {"K80": "K80", "CPU": "V100"}
    gpus = tuple(dataclasses.replace(each, kind=kinds[each.kind]) for each in devices.devices)
    devices = dataclasses.replace(devices, devices=gpus)
    prices = np.random.default_rng(seed).uniform(0.5, 3, 2).tolist()
    present = {each.kind for each in gpus}
    named = {kind: price for kind, price in zip(("K80", "V100"), prices, strict=True) if kind in present}
    return (
        ModelByBatch((dataclasses.replace(prepared, costs=costs),), drawn.samples),
        with_prices(devices, named),
        batch,
    )


def test_the_answer_is_the_cheapest_of_all_parts() -> None:
    left_out = 0
    for seed in range(12):
        drawn, devices, batch = two_kinds(seed)
        request = PlanRequest(devices, batch, PlanRules(Pipeline.ONE_F_ONE_B), seconds=60)
        every = [Choosing(drawn, request, lambda _: None).tried(part) for part in parts_of(devices)]
        for tried in every:
            assert tried.samples_per_second <= tried.most_per_second * (1 + 1e-9)
        rates = sorted(tried.samples_per_second for tried in every)
        for reach in (0.9 * rates[0], 0.999 * rates[len(rates) // 2], 0.999 * rates[-1]):
            expected = next(tried for tried in every if tried.samples_per_second >= reach)
            answer = Choosing(drawn, request, lambda _: None).cheapest(reach)
            assert answer[-1].part == expected.part
            assert answer[-1].samples_per_second == pytest.approx(expected.samples_per_second)
            left_out += sum(tried.best is None for tried in answer)
        with pytest.raises(InfeasibleError):
            Choosing(drawn, request, lambda _: None).cheapest(1.001 * rates[-1])
    assert left_out > 0
