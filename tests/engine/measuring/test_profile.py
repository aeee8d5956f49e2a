"""A profile: what was run is measured, what cannot be run or must not be is one clear line."""

import time
from pathlib import Path

import numpy as np
import pytest

from engine import api
from engine.child.parent import run_in_child
from engine.costs.costs import CostSource
from engine.costs.measured import with_measured
from engine.events import Json
from engine.measuring.profiling import busy_notes
from tests.engine.costs.in_child import read_step_stats
from tests.engine.measuring.conftest import LIMITS, Profiled
from tests.engine.measuring.graphs_to_run import ENDLESS

RUNNING = "tests.engine.measuring.running"


def test_what_was_run_is_measured_on_the_cpu_and_estimated_elsewhere(
    prepared: api.PreparedGraph, profiled: Profiled
) -> None:
    plain = prepared.costs
    costs = with_measured(plain, prepared.graph, read_step_stats(profiled.path, LIMITS))
    inputs = {"images", "labels"}  # what is fed does not run
    estimated = np.flatnonzero(costs.source == CostSource.ESTIMATED)
    assert {prepared.graph.op_names[op] for op in estimated} == inputs
    assert np.count_nonzero(costs.source == CostSource.MEASURED) == prepared.graph.op_count - len(inputs)
    cpu = plain.kinds.index("CPU")
    gpus = [row for row in range(len(plain.kinds)) if row != cpu]
    assert np.array_equal(costs.time_us[gpus], plain.time_us[gpus])
    assert np.count_nonzero(costs.time_us[cpu] != plain.time_us[cpu]) > 0.9 * prepared.graph.op_count


def test_bytes_of_outputs_are_those_estimated_where_both_know(prepared: api.PreparedGraph, profiled: Profiled) -> None:
    """Shapes do not depend on who tells them; the reserved outputs of a normalisation are each library's own."""
    costs = with_measured(prepared.costs, prepared.graph, read_step_stats(profiled.path, LIMITS))
    op_of_output = np.repeat(np.arange(prepared.graph.op_count), np.diff(costs.output_offset))
    differing = op_of_output[prepared.costs.output_bytes != costs.output_bytes]
    assert {prepared.graph.op_types[op] for op in differing} <= {"FusedBatchNormV3", "FusedBatchNormGradV3"}


def test_it_reports_what_was_run(prepared: api.PreparedGraph, profiled: Profiled) -> None:
    reported = profiled.reported
    assert reported["targets"] == ["loss", "train_step"]
    assert reported["left_out"] == []
    assert reported["ops"] == prepared.graph.op_count
    assert reported["measured_ops"] == prepared.graph.op_count - 2
    assert reported["classes"] == ["CPU"]
    assert reported["steps"] == 3
    assert reported["threads"] == 1
    steps = [(done, total) for stage, done, total in profiled.stages if stage == "running the graph"]
    assert steps == [(done, 2 + 2 * 3) for done in range(2 + 2 * 3)]


def test_the_median_step_holds_each_ops_own_median() -> None:
    """The second step's sum is the median. There, `b` was interrupted, and the two runs of `loop` share its median."""
    steps: list[Json] = [
        [["a", 100], ["b", 20], ["loop", 10], ["loop", 10], ["idle", 0]],
        [["a", 90], ["b", 900], ["loop", 30], ["loop", 10], ["idle", 0]],
        [["a", 2000], ["b", 30], ["loop", 40], ["loop", 40], ["idle", 5]],
    ]
    _, texts = run_in_child(
        f"{RUNNING}:median_in_child", {"steps": steps}, LIMITS, task="taking the median", is_warm=True
    )
    times = [("a", 100), ("b", 30), ("loop", 30), ("loop", 10), ("idle", 0)]
    assert texts["ops"] == [[name, 5, 5 + time, 12 + time] for name, time in times]


class StopError(Exception):
    """Raised by a pulse."""


def test_a_graph_that_loops_for_ever_ends_at_a_pulse(tmp_path: Path) -> None:
    """Such a step reports nothing, so that only a pulse can end it before its time is over."""
    path = tmp_path / "endless.pbtxt"
    path.write_text(ENDLESS)
    stages: list[str] = []
    ending_at = 0.0

    def stop_in_the_first_step() -> None:
        nonlocal ending_at
        if "running the graph" in stages:
            ending_at = ending_at or time.monotonic() + 1.0
            if time.monotonic() > ending_at:
                raise StopError

    with pytest.raises(StopError):
        api.profile(
            path,
            ".pbtxt",
            tmp_path / "times.pb",
            api.ReadingOptions(),
            LIMITS,
            lambda stage, _done, _total: stages.append(stage),
            pulse=stop_in_the_first_step,
        )
    assert stages.count("running the graph") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["endless.pbtxt"]


def test_a_busy_machine_is_reported() -> None:
    assert busy_notes(wall_us=120.0, processor_us=100.0) == []
    assert busy_notes(wall_us=100.0, processor_us=800.0) == []  # several threads
    assert busy_notes(wall_us=250.0, processor_us=100.0) == [
        "The machine was busy with other work (a step took 2.5 times its processor time): measure again when it is "
        "idle."
    ]
