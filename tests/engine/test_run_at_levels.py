"""Runs of a graph whose groups nest: what their events and reports say is what they placed."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

from engine.clusters.parsing import parse_cluster
from engine.errors import PlacementError
from engine.events import Baseline, Checkpoint, Episode, Started
from engine.explaining.session import Session
from engine.formats.reading import AUTO_GROUPS, grouped
from engine.graphs.grouping.nesting import SPLIT, SplitPlacement
from engine.placement_files import placement_of_report, placement_to_json, simulate
from engine.placers.registry import PLACERS
from engine.prepared import PreparedGraph
from engine.problem import Budget
from engine.run.request import RunRequest
from engine.run.run import Run
from engine.zoo.random_graphs import random_graph
from tests.engine.small_runs import AUTO, Heard, events_of, without_seconds

CLUSTER = parse_cluster("3xK80")
SPLITTING = [name for name, method in PLACERS.items() if method.searches_levels]
SPLITTING_PARAMETERS = [AUTO if name == "auto" else name for name in SPLITTING]


@pytest.fixture(scope="module")
def prepared() -> PreparedGraph:
    drawn = random_graph("series-parallel", 300, np.random.default_rng(1))
    grouping, levels = grouped(drawn.graph, drawn.costs, AUTO_GROUPS)
    return PreparedGraph(drawn.graph, drawn.costs, grouping, levels=levels)


def run(prepared: PreparedGraph, request: RunRequest, state: bytes | None = None) -> tuple[dict[str, object], Heard]:
    heard: Heard = []
    return dict(Run(prepared, request, heard.append, lambda: False).execute(state)), heard


def asked(method: str, evaluations: int = 800, **more: object) -> RunRequest:
    return RunRequest(CLUSTER, method, Budget(evaluations), 0, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [*SPLITTING_PARAMETERS, "heft", "brkga"])
def test_every_event_reports_the_placement_that_it_timed(prepared: PreparedGraph, method: str) -> None:
    report, heard = run(prepared, asked(method))
    session = Session(prepared, CLUSTER)
    started = next(event for event in events_of(heard) if isinstance(event, Started))
    episodes = [event for event in events_of(heard) if isinstance(event, Episode)]
    assert started.groups == prepared.grouping.group_count
    assert started.levels == (prepared.levels.group_counts if method in SPLITTING else [])
    for event in [*episodes[:20], *episodes[-20:]]:
        given = session.by_levels(SplitPlacement(event.placement, event.parts))
        assert session.evaluate(given).step_time_us == event.step_time_us
        assert session.levels_of(given) == SplitPlacement(event.placement, event.parts)
        assert event.level_groups in (started.levels or [started.groups])
    for baseline in (event for event in events_of(heard) if isinstance(event, Baseline) and event.placement):
        assert SPLIT not in (baseline.placement or [])
    answer = placement_of_report(report)  # type: ignore[arg-type]
    assert any(SPLIT in event.placement for event in episodes) == (method in SPLITTING)
    [simulated] = simulate(prepared, CLUSTER, [dict(placement_to_json(prepared, CLUSTER, answer))])
    assert isinstance(simulated, dict) and simulated["step_time_us"] == report["step_time_us"]


@pytest.mark.parametrize("method", SPLITTING_PARAMETERS)
def test_pins_hold_at_every_level_and_split_groups_can_stay_as_they_are(prepared: PreparedGraph, method: str) -> None:
    _, heard = run(prepared, asked(method))
    split = [e for e in events_of(heard) if isinstance(e, Episode) and e.feasible and SPLIT in e.placement][-1]
    start = SplitPlacement(split.placement, split.parts)
    whole = next(group for group, device in enumerate(start.device_of_group) if device != SPLIT)
    torn = start.device_of_group.index(SPLIT)
    pins = {whole: start.device_of_group[whole], torn: SPLIT}
    report, again = run(prepared, asked(method, start=start, pins=pins))
    kept = np.isin(prepared.grouping.group_of_op, [whole, torn])
    device_of_op = prepared.device_of_op(start)
    for event in events_of(again):
        if isinstance(event, Episode):
            found = prepared.device_of_op(SplitPlacement(event.placement, event.parts))
            np.testing.assert_array_equal(found[kept], device_of_op[kept])
    assert report["start_step_time_us"] == split.step_time_us
    assert float(str(report["step_time_us"])) <= split.step_time_us


@pytest.mark.parametrize("method", SPLITTING_PARAMETERS)
def test_a_run_that_is_resumed_goes_on_as_if_it_had_never_stopped(prepared: PreparedGraph, method: str) -> None:
    request = dataclasses.replace(asked(method, 400), settings={"checkpoint_seconds": 0.0})
    expected, whole = run(prepared, request)
    saved = [item for item in whole if isinstance(item, Checkpoint)]
    assert len(saved) > 3
    for one, _ in [*pairwise(saved)][:: max(1, len(saved) // 2)]:
        report, _ = run(prepared, request, one.state)
        assert without_seconds(report) == without_seconds(expected)


def test_a_method_that_splits_nothing_refuses_a_split_start(prepared: PreparedGraph) -> None:
    units = np.arange(prepared.levels.group_counts[-1], dtype=np.int32) % 2
    with pytest.raises(PlacementError, match=r"or a method that splits groups \(auto"):
        run(prepared, asked("brkga", start=prepared.levels.split_placement(units)))
    with pytest.raises(PlacementError, match="a device, or a start in which it is split"):
        run(prepared, asked("auto", pins={0: SPLIT}))
