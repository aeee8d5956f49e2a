"""The sensitivity of ranks on a small graph: one factor at a time, kept rows, and the figures of the page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.clusters.cluster import Contention
from engine.simulator import Simulator
from experiments import sensitivity
from experiments.sensitivity import CHANGES, OneChange, ZooProblem, methods_tau, regret, tau
from tests.engine.small_runs import prepared_graph
from tests.experiments.small_experiments import children_in


def test_a_second_call_computes_only_the_missing_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.comparing.child.run_in_child", children_in(tmp_path))
    monkeypatch.setattr(sensitivity, "PROBLEMS", (ZooProblem("small", "2xK80"),))
    monkeypatch.setattr(sensitivity, "prepared_zoo_graph", lambda *_: prepared_graph())
    monkeypatch.setattr(sensitivity, "METHODS", ("single_device", "random", "local_search"))
    monkeypatch.setattr(sensitivity, "EVALUATIONS", 40)
    monkeypatch.setattr(sensitivity, "SEEDS", 1)
    monkeypatch.setattr(sensitivity, "CHANGES", (CHANGES[0], CHANGES[1]))
    text = sensitivity.run(tmp_path, lambda _: None)
    first = kept_lines(tmp_path)
    assert [row["key"]["change"] for row in first] == ["unchanged", "contention pair"]
    results = [row["result"] for row in first]
    assert 2 <= len(results[0]["placements_us"]) == len(results[1]["placements_us"]) <= 40
    assert text.splitlines()[-1].startswith("| small, 2xK80 | contention pair | ")
    monkeypatch.setattr(sensitivity, "CHANGES", (*CHANGES[:2], CHANGES[-1]))
    told: list[str] = []
    sensitivity.run(tmp_path, told.append)
    assert told == ["bandwidth × 20"]
    assert kept_lines(tmp_path)[:2] == first
    monkeypatch.setattr(sensitivity, "EVALUATIONS", 41)
    told.clear()
    sensitivity.run(tmp_path, told.append)
    assert told == ["unchanged", "contention pair", "bandwidth × 20"], "other budgets start again"


def kept_lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "kept" / "sensitivity.jsonl").read_text().splitlines()]


def test_each_change_changes_one_thing() -> None:
    prepared = prepared_graph()
    cluster = api.parse_cluster("2xK80+cpu")
    assert OneChange("pair", contention=Contention.PAIR).cluster(cluster).contention is Contention.PAIR
    assert np.all(OneChange("links", bandwidths=20.0).cluster(cluster).bandwidth_bytes_per_us == 152_000)
    slower = OneChange("times", op_times=5.0).prepared(prepared, cluster)
    times, changed = (each.costs.time_on_devices(cluster.devices) for each in (prepared, slower))
    np.testing.assert_allclose(changed, 5 * times)
    assert slower.grouping is prepared.grouping


def test_with_faster_ops_and_links_alike_ranks_stay() -> None:
    prepared = prepared_graph()
    cluster = api.parse_cluster("2xK80+cpu")
    placements = sensitivity.placements_of_a_search(prepared, cluster)
    step_us = Simulator(prepared.graph, prepared.costs, cluster, prepared.grouping.group_of_op).evaluate(placements)
    assert len(np.unique(placements, axis=0)) == len(placements) > 1
    assert tau(step_us.step_time_us, 3 * step_us.step_time_us) == pytest.approx(1)


def test_taus_and_regret() -> None:
    assert tau([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx(2 / 3)
    assert methods_tau({"a": 1, "b": 2, "c": None}, {"a": 5, "b": 3, "c": 1}) == -1
    assert regret([3.0, 1.0, 2.0], [4.0, 3.0, 2.0]) == 0.5
