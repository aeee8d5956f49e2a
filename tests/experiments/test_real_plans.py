"""The experiment on plans that really run: its page from measurements in closed form, plans, times and sleeps."""

import dataclasses
import json
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from engine import api
from engine.clusters.calibration import MeasuredFigure
from engine.clusters.cluster import Contention
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER
from engine.plans.by_batch import ModelByBatch
from engine.plans.simulated import PlanSimulator
from experiments.measured_streams.towers import SMALL_ROWS
from experiments.real_plans import devices, measured, table
from experiments.real_plans.measured import RunPlans
from experiments.real_plans.slowed import Slowed
from experiments.real_plans.tried import BEST, MIDDLE, WORST, Trials, TriedPlan, to_run
from tests.engine.formats.modules.recorded_chain import recorded_chain

LINK = {
    name: MeasuredFigure(value, value, value, "a figure")
    for name, value in {
        "latency_us": 100.0,
        "bandwidth_bytes_per_us": 2000.0,
        "further_small_transfer_us": 30.0,
        "waiting_share": 1.0,
        "overlap_share.sender": 0.0,
        "overlap_share.receiver": 0.0,
    }.items()
}
LAYERS, MICRO_BATCHES = 4, 8
SIMULATED_MS = (1000.0, 1100.0, 1200.0, 1500.0, 2000.0, 3000.0, 4000.0)
KINDS = {devices.kind_of(factor): factor for factor in devices.FACTORS}


@pytest.fixture(scope="module")
def plans() -> list[TriedPlan]:
    """The plans of a chain whose ops take 1 ms times the device's factor."""
    prepared = recorded_chain(LAYERS)
    times_us = np.array([[1e3 * factor] * prepared.graph.op_count for factor in KINDS.values()])
    empty = np.empty(0, np.int64)
    costs = dataclasses.replace(prepared.costs, kinds=tuple(KINDS), time_us=times_us, moved_bytes=empty)
    model = ModelByBatch((dataclasses.replace(prepared, costs=costs),), (SMALL_ROWS,))
    simulator = PlanSimulator(model, devices.slowed_cluster(LINK), api.PlanRules(api.pipeline_of("1f1b")))
    return Trials(simulator, LAYERS, SMALL_ROWS, MICRO_BATCHES).all()


def test_plans_use_all_devices_and_have_the_batch_and_are_in_order(plans: list[TriedPlan]) -> None:
    assert len({each.division for each in plans}) > BEST + WORST
    for each in plans:
        replicas = each.simulated.plan.replicas
        assert sorted(device for replica in replicas for device in replica.devices) == [0, 1, 2, 3]
        assert each.simulated.plan.samples == SMALL_ROWS * MICRO_BATCHES
        assert all(replica.micro_batches >= len(replica.devices) for replica in replicas)
    times_us = [each.simulated.batch_time_us for each in plans]
    assert times_us == sorted(times_us)


def test_the_best_and_the_worst_are_run_each_of_another_division(plans: list[TriedPlan]) -> None:
    chosen = to_run(plans)
    assert len(chosen) == len(set(map(id, chosen))) == BEST + MIDDLE + WORST
    assert chosen[0] is plans[0] and chosen[-1].simulated.batch_time_us == plans[-1].simulated.batch_time_us
    for ends in (chosen[:BEST], chosen[-WORST:]):
        assert len({each.division for each in ends}) == len(ends)


def test_the_passes_of_a_device_take_what_was_measured() -> None:
    prepared = recorded_chain(LAYERS)
    phase = np.array([FORWARD, BACKWARD, OPTIMIZER] * prepared.graph.op_count)[: prepared.graph.op_count]
    times_us = np.arange(1.0, 1.0 + prepared.graph.op_count)[None]
    costs = dataclasses.replace(prepared.costs, kinds=("CPU",), time_us=times_us, moved_bytes=np.empty(0, np.int64))
    passes_us = [[10.0 * factor, 20.0 * factor, 3.0 * factor] for factor in devices.FACTORS]
    found = devices.on_slowed(costs, phase, passes_us).time_on_devices(devices.slowed_cluster(LINK).devices)
    for each, place in zip(devices.PHASES, range(3), strict=True):
        assert found[:, phase == each].sum(axis=1) == pytest.approx(np.array(passes_us)[:, place])


def test_slowed_processors_are_free_for_the_link() -> None:
    cluster = devices.slowed_cluster(LINK)
    assert cluster.contention is Contention.PAIR and cluster.op_rests_us.tolist() == [0.0] * len(devices.FACTORS)
    assert [device.kind for device in cluster.devices] == [devices.kind_of(factor) for factor in devices.FACTORS]


def test_a_piece_of_compute_lasts_so_many_times_its_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """By clocks of our own: each look at the processor's clock is one second of work, and nothing waits but sleeps."""
    now = {"wall": 0.0, "spent": 0.0}
    slept: list[float] = []

    def thread_time() -> float:
        now["wall"] += 1.0
        now["spent"] += 1.0
        return now["spent"]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now["wall"] += seconds

    monkeypatch.setattr(time, "thread_time", thread_time)
    monkeypatch.setattr(time, "monotonic", lambda: now["wall"])
    monkeypatch.setattr(time, "sleep", sleep)
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    Slowed(model, optimizer, 8.0)
    output = model(torch.ones(3, 2))
    assert slept == [6.0]  # eight seconds from the piece's begin, of which two have passed
    output.sum().backward()
    assert len(slept) == 3  # a weight and a bias
    optimizer.step()
    assert len(slept) == 4


def run_plans() -> RunPlans:
    """Seven plans that take 1.1 times as long as simulated; each round 1 % longer than the last."""
    rounds = [[[1.1e3 * each * (1 + 0.01 * number)] * 2 for number in range(3)] for each in SIMULATED_MS]
    stages = [{"device": 0, "modules": ["layers.0"]}, {"device": 3, "modules": ["layers.1"]}]
    replica = {"devices": [0, 3], "micro_batch": 32, "micro_batches": 16, "stages": stages}
    return RunPlans(
        link={name: asdict(figure) for name, figure in LINK.items()},
        passes_us=[[[100e3, 200e3, 10e3]] * 4] * 2,
        tried=40,
        plans=[
            {"stages": "equal layers", "shares": "all samples", "simulated_us": 1e3 * each, "replicas": [replica]}
            for each in SIMULATED_MS
        ],
        times_us=rounds,
        losses=[[[1.0, 0.5, 0.25 + 1e-7]] * 3] * len(SIMULATED_MS),
        losses_alone=[1.0, 0.5, 0.25],
    )


def test_the_page_has_order_and_ratios_and_nothing_is_measured_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[RunPlans] = []

    def measured_plans() -> RunPlans:
        made.append(run_plans())
        return made[-1]

    monkeypatch.setattr(measured, "measured_plans", measured_plans)
    text = table.run(tmp_path, lambda _: None)
    assert "| the 3 best and the 3 worst | 6 | 1.00 | 1.11 (1.11 to 1.11) | 1e-07 |" in text
    assert "| 8 24: 16 × 32 | equal layers | all samples | 1111 (1100 to 1122) | 1000 | 1.11 |" in text
    assert json.loads((tmp_path / "real_plans.json").read_text())["settings"] == table.key_here()
    assert table.run(tmp_path, lambda _: None) == text and len(made) == 1


def test_a_step_lasts_from_the_first_process_to_the_last() -> None:
    visit = [{"spans": [[0.0, 1.0]], "losses": [0.5]}, {"spans": [[0.5, 3.0]], "losses": [0.5]}]
    assert measured.times_of(visit) == pytest.approx([3e6])
    assert measured.losses_of(visit) == [0.5]
