"""Clusters of many sizes: what is measured, who is ahead of auto, and resuming."""

from pathlib import Path
from typing import Any

import pytest

from experiments import cluster_sizes, leveled
from experiments.cluster_sizes import EQUAL, SEARCH, STARTS, UNEQUAL, keys_of
from experiments.grid import KeptResults, Measurement
from experiments.leveled import METHOD, GraphOnCluster
from tests.engine.small_runs import prepared_graph


@pytest.fixture(autouse=True)
def one_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_sizes, "GRAPHS", ("one",))
    monkeypatch.setattr(cluster_sizes, "SECONDS", 0.05)
    monkeypatch.setattr(leveled, "graph_named", lambda *_: prepared_graph(40))


@pytest.mark.parametrize("method", [METHOD, SEARCH, "heft", "human_expert"])
@pytest.mark.parametrize("cluster", ["2xK80+2xV100", "16xK80"])
def test_a_child_measures_its_seeds(method: str, cluster: str, tmp_path: Path) -> None:
    key = keys_of(GraphOnCluster("one", cluster))[method]
    found: Any = leveled.in_child(dict(key), tmp_path, lambda *_: None)[1]
    assert all(time_us > 0 for time_us in found["result"])
    if method != "human_expert":  # which has no rule for every graph
        assert len(found["result"]) == (3 if method in (METHOD, SEARCH) else 1)


def kept_of(path: Path, times_us: dict[tuple[str, str], float]) -> KeptResults:
    """Every step takes 2 s but for these (cluster, method)."""
    kept = KeptResults(path)
    for cluster in (*EQUAL, *UNEQUAL):
        for method, key in keys_of(GraphOnCluster("one", cluster)).items():
            time_us = times_us.get((cluster, method), 2e6)
            kept.add(key, [] if time_us == 0 else [time_us] * 3)
    return kept


def test_who_is_ahead_is_reported(tmp_path: Path) -> None:
    ahead = {("4xV100", SEARCH): 1.9e6, ("8xV100", METHOD): 1e6, ("V100+3xK80", "heft"): 1e6}
    text = cluster_sizes.page(kept_of(tmp_path / "kept.jsonl", ahead))
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| one")}
    assert len(rows) == len(EQUAL) + len(UNEQUAL)
    assert "| **-5.0 %** | +0.0 % heft | +0.0 % |" in rows["one, 4xV100"]
    assert "**-50.0 %** |" in rows["one, 16xV100"], "eight devices are twice as fast"
    assert "| **-50.0 %** heft | – |" in rows["one, V100+3xK80"]
    assert "more than 1% behind on 5 of 10 clusters" in text


def test_a_method_that_finds_nothing_is_no_best_start(tmp_path: Path) -> None:
    text = cluster_sizes.page(kept_of(tmp_path / "kept.jsonl", {(EQUAL[0], name): 0 for name in STARTS[:-1]}))
    assert f"+0.0 % {STARTS[-1]}" in next(line for line in text.splitlines() if line.startswith("| one, 2xV100 |"))


def test_a_second_call_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(kept: KeptResults, _graph: str, orders: dict[str, Measurement], *_: object) -> None:
        for shown, key in orders.items():
            if key not in kept:
                reported.append(shown)
                kept.add(key, [1.0])

    reported: list[str] = []
    monkeypatch.setattr(cluster_sizes, "measure_rounds", measure)
    text = cluster_sizes.run(tmp_path, lambda _: None)
    assert len(reported) == 10 * 8 and cluster_sizes.run(tmp_path, lambda _: None) == text and len(reported) == 80
