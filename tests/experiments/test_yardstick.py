"""The yardstick: a problem's key, a file that only improves, and the command that searches and writes its page."""

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.api import PreparedGraph
from engine.clusters.cluster import Contention
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.parsing import parse_cluster
from engine.errors import PlacementError, SettingsError
from engine.events import Json
from engine.problem import PlacementProblem
from experiments import grid
from experiments.children_here import children_here
from experiments.keeping import yardstick
from experiments.keeping.yardstick import FoundBy, Yardstick, key_of, read_placement, written
from experiments.problems import problem_on
from experiments.yardstick import problems, table
from experiments.yardstick.problems import NamedProblem, named_problems
from experiments.yardstick.scope import SETS, make_yardstick_scope
from tests.engine.small_runs import prepared_graph

BY = FoundBy("auto", 0, 20.0)


def problem(cluster: str = "2xK80") -> PlacementProblem:
    return problem_on(prepared_graph(), cluster)


def placements_by_time(of: PlacementProblem, count: int = 20) -> list[NDArray[np.int32]]:
    """Random placements, the slowest first."""
    drawn = np.random.default_rng(0).integers(0, of.device_count, (count, of.group_count)).astype(np.int32)
    times_us = of.simulator.evaluate(drawn).step_time_us
    return list(drawn[np.argsort(-times_us, kind="stable")])


def changed_costs(of: PreparedGraph, name: str) -> PreparedGraph:
    """The graph with one more byte, or µs, for each op in one array of its costs."""
    more = getattr(of.costs, name) + 1
    return dataclasses.replace(of, costs=dataclasses.replace(of.costs, **{name: more}))


@pytest.mark.parametrize("name", ["time_us", "output_bytes", "persistent_bytes", "temporary_bytes"])
def test_other_costs_are_another_problem(name: str) -> None:
    assert key_of(problem_on(changed_costs(prepared_graph(), name), "2xK80")) != key_of(problem())


def test_another_cluster_grouping_or_memory_model_is_another_problem() -> None:
    cluster = parse_cluster("2xK80")
    slower = dataclasses.replace(cluster, bandwidth_bytes_per_us=cluster.bandwidth_bytes_per_us / 2)
    paired = dataclasses.replace(cluster, contention=Contention.PAIR)
    outputs = json.dumps(cluster_to_json(cluster) | {"memory_model": "outputs"})
    clusters = ["2xK80", "4xK80", *(json.dumps(cluster_to_json(each)) for each in (slower, paired)), outputs]
    keys = {key_of(problem(each)) for each in clusters}
    graph = prepared_graph()
    group_of_op = graph.grouping.group_of_op.copy()
    group_of_op[0] = group_of_op[1]
    merged = dataclasses.replace(graph, grouping=dataclasses.replace(graph.grouping, group_of_op=group_of_op))
    assert len(keys | {key_of(problem_on(merged, "2xK80"))}) == 6


def test_names_of_devices_are_no_part_of_the_problem() -> None:
    cluster = parse_cluster("2xK80")
    first, second = cluster.devices
    renamed = (dataclasses.replace(first, name=second.name), dataclasses.replace(second, name=first.name))
    assert key_of(problem()) == key_of(
        problem(json.dumps(cluster_to_json(dataclasses.replace(cluster, devices=renamed))))
    )


def test_the_file_only_improves(tmp_path: Path) -> None:
    path, of = tmp_path / "new" / "yardstick.jsonl", problem()
    assert Yardstick(path).best_us(of) is None
    times_us = []
    for placement in placements_by_time(of):
        Yardstick(path).offer(of, placement, BY, "small on 2xK80")
        assert not Yardstick(path).offer(of, placement, BY, "the same again")
        times_us.append(Yardstick(path).best_us(of) or 0.0)
    slow, fast = placements_by_time(of)[0], placements_by_time(of)[-1]
    assert times_us == sorted(times_us, reverse=True) and times_us[0] > times_us[-1]
    assert times_us[-1] == float(of.simulator.evaluate(fast[None]).step_time_us[0])
    assert not Yardstick(path).offer(of, slow, BY, "slower")
    (line,) = Yardstick(path).lines().values()
    assert (line.placement, line.name, line.groups) == (written(fast), "small on 2xK80", of.group_count)
    assert line.found_by["method"] == "auto" and line.found_by["seconds"] == 20.0


def test_a_placement_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "yardstick.jsonl"
    cluster = parse_cluster("2xK80")
    tiny = dataclasses.replace(
        cluster, devices=tuple(dataclasses.replace(each, memory_bytes=1) for each in cluster.devices)
    )
    of = problem(json.dumps(cluster_to_json(tiny)))
    assert not Yardstick(path).offer(of, placements_by_time(of)[-1], BY, "too small")
    assert Yardstick(path).lines() == {}


def test_a_placement_of_another_graph_is_an_error(tmp_path: Path) -> None:
    of = problem()
    with pytest.raises(PlacementError):
        Yardstick(tmp_path / "file").offer(of, np.zeros(of.group_count + 1, dtype=np.int32), BY, "longer")
    with pytest.raises(PlacementError):
        Yardstick(tmp_path / "file").offer(of, np.full(of.group_count, 2, dtype=np.int32), BY, "no third device")


def test_a_line_that_the_simulator_contradicts_is_an_error(tmp_path: Path) -> None:
    path, of = tmp_path / "yardstick.jsonl", problem()
    slow, fast = placements_by_time(of)[0], placements_by_time(of)[-1]
    Yardstick(path).offer(of, slow, BY, "small")
    line = json.loads(path.read_text()) | {"step_time_us": 1.0}
    path.write_text(json.dumps(line) + "\n")
    for attempt in (lambda: Yardstick(path).best_us(of), lambda: Yardstick(path).offer(of, fast, BY, "small")):
        with pytest.raises(PlacementError, match="raise SIMULATION"):
            attempt()


def test_of_offers_at_once_the_best_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "yardstick.jsonl"
    clusters = ["2xK80", "4xK80", "8xK80"]
    offers = [(problem(each), placement) for each in clusters for placement in placements_by_time(problem(each))]
    order = np.random.default_rng(3).permutation(len(offers))

    def offer(index: int) -> bool:
        of, placement = offers[index]
        return Yardstick(path).offer(of, placement, BY, f"{of.device_count} devices")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(offer, order.tolist()))
    assert len(path.read_text().splitlines()) == len(clusters)
    for each in clusters:
        of = problem(each)
        best = placements_by_time(of)[-1]
        assert Yardstick(path).best_us(of) == float(of.simulator.evaluate(best[None]).step_time_us[0])


def test_a_placement_as_a_text() -> None:
    placement = np.arange(64, dtype=np.int32)
    assert read_placement(written(placement)).tolist() == placement.tolist()
    assert len(set(yardstick.SIGNS)) == 64


def test_the_problems_are_those_of_the_tables() -> None:
    found = list(named_problems(make_yardstick_scope({})))
    assert len(found) == len(set(found)) == 24 + 7 * 10 * 4
    of_the_zoo = [each for each in found if each.set == "zoo"]
    assert sum(each.pair for each in of_the_zoo) == sum("measured" in each.cluster for each in of_the_zoo) == 12
    assert list(dict.fromkeys(each.set for each in found)) == list(SETS)
    assert NamedProblem("ptb@1", "ptb-02@1", "8xV100") in found
    assert not [each for each in found if each.set.startswith("nmt@")], "its other seeds have graphs of training"


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"sets": "nmt,resnet"}, f"sets: 'resnet'; allowed: {', '.join(SETS)}"),
        ({"methods": "magic"}, "methods: 'magic'; allowed: auto, placeto, "),
        ({"sets": "ptb@2"}, "test_seeds: the test graphs of seed 2 are sealed until the work on policies ends"),
    ],
)
def test_a_scope_that_cannot_be_is_refused(settings: dict[str, str], line: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_yardstick_scope(settings)
    assert str(caught.value).startswith(line)


@pytest.fixture
def small_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = {"nmt-02": prepared_graph(10), "nmt-05": prepared_graph(9)}
    monkeypatch.setattr(problems, "_graphs", lambda _scope, _name: graphs)


@pytest.mark.usefixtures("small_graphs")
def test_the_command_searches_what_is_missing_and_writes_what_is_known(tmp_path: Path) -> None:
    settings: dict[str, Json] = {
        "sets": "nmt",
        "graphs": 2,
        "clusters": "2xK80",
        "seeds": 2,
        "seconds": 0.05,
        "long_problems": 1,
        "long_seeds": 1,
        "long_seconds": 0.1,
    }
    reported: list[str] = []
    children = tmp_path / "children"
    children.mkdir()
    with children_here(grid, children):
        text = table.run(tmp_path, reported.append, settings)
        assert len(reported) == 5 and reported[0] == "1 of 5: nmt-02 on 2xK80: auto, seed 0, 0.05 s"
        assert table.run(tmp_path, reported.append, settings) == text and len(reported) == 5
    assert "| nmt | 2 | 2 | 2 | 2 | +" in text and "5 of them are made" in text
    assert "| nmt-02 on 2xK80 |" in text
    lines = Yardstick(tmp_path / "yardstick.jsonl").lines()
    assert sorted(line.name for line in lines.values()) == ["nmt-02 on 2xK80", "nmt-05 on 2xK80"]
    fewer = table.run(tmp_path, reported.append, settings | {"search": False, "seeds": 3})
    assert len(reported) == 5 and "3 searches of 0.05 s" in fewer
    assert "| nmt | 2 | 2 | 2 | 0 |  |  |" in fewer, "no gap before all searches of a problem are made"
