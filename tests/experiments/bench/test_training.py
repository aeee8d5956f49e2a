"""The benchmark of training: every run has its row, and the shares of time add up. The clock is the test's own."""

import itertools
import re
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from engine import api
from engine.clusters.cluster import NO_DEVICE
from engine.placeto.episodes import EpisodePlan
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.networks.shared_head_actor import SampledEpisodes, SharedHeadActor
from engine.zoo.random_graphs import random_graph
from experiments.bench import training as training_speed
from experiments.bench.training import Measured, TimeShares
from tests.engine.placeto.problems import random_problem


def set_clock(monkeypatch: pytest.MonkeyPatch, clock: object) -> None:
    """From now on the benchmark reads `clock`."""
    monkeypatch.setattr(training_speed, "time", SimpleNamespace(perf_counter=clock))


def test_a_part_inside_another_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    set_clock(monkeypatch, lambda: now)
    shares = TimeShares()

    def simulate() -> None:
        nonlocal now
        now += 2.0

    inner = shares.timed("simulator", simulate)

    def outer() -> None:
        nonlocal now
        inner()
        now += 1.0
        inner()

    shares.timed("network", outer)()
    assert shares.seconds == {"network": 1.0, "simulator": 4.0}


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_a_run_has_its_row(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, itertools.count().__next__)
    row = training_speed._row(random_problem(1), Measured(preset, "intermediate", "random", 60), "cpu").split()
    assert row[:4] == [preset, "intermediate", "random", "cpu"] and int(row[4]) >= 1
    network, simulator, glue = (float(cell.rstrip("%")) for cell in row[8:11])
    assert min(network, simulator, glue) > 0 and network + simulator + glue == pytest.approx(100.0, abs=2.0)


def test_a_pass_from_nowhere_has_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[EpisodePlan] = []
    sample = SharedHeadActor.sample

    def noted(self: SharedHeadActor, plan: EpisodePlan, raise_if_over: RaiseIfOver) -> SampledEpisodes:
        plans.append(plan)
        return sample(self, plan, raise_if_over)

    monkeypatch.setattr(SharedHeadActor, "sample", noted)
    row = training_speed._pass_row(random_problem(1, groups=7), "cpu")
    assert re.fullmatch(r"    7 groups, cpu: \d+\.\d{3} s", row)
    assert len(plans) == 1 + training_speed.PASSES
    assert all(plan.greedy.all() and np.all(plan.starts == NO_DEVICE) for plan in plans)


def test_a_policy_s_training_has_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[api.TrainRequest] = []
    train = api.train

    def noted(
        request: api.TrainRequest, emit: Callable[[api.TrainingProgress], None], should_stop: api.ShouldStop
    ) -> bytes:
        asked.append(request)
        return train(request, emit, should_stop)

    monkeypatch.setattr(api, "train", noted)
    monkeypatch.setattr(training_speed, "POLICY_STEPS", 2)
    graph = random_graph("series-parallel", 6, np.random.default_rng(0))
    row = training_speed._policy_row(graph, "cpu")
    assert re.fullmatch(rf"{graph.grouping.group_count:5} groups, cpu: \d+\.\d s", row)
    assert [request.settings["reinforcement_batches"] for request in asked] == [1, 2]
