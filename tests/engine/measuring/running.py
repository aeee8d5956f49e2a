"""Selects, checks and runs many small graphs in one child, since each child loads TensorFlow."""

from pathlib import Path
from typing import cast

import numpy as np

from engine.child.parent import ReportProgress, Results
from engine.errors import PlacetoError
from engine.events import Json
from engine.graphs.tensorflow.messages import Message, load_messages
from engine.measuring.measurement_in_child import devices_of, placed_run, read_runnable
from engine.measuring.profiling_in_child import median_step, profile_in_child
from engine.measuring.runnable import reason_not_to_run
from engine.measuring.session_graph import Steps


def profiles_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """{name: what `profile_in_child` told, or its error's line}, for `graphs` {name: [text, options]}."""
    reported: dict[str, Json] = {}
    for name, (text, options) in cast(dict[str, tuple[str, dict[str, Json]]], order["graphs"]).items():
        path = folder / "graph.pbtxt"
        path.write_text(text)
        own: dict[str, Json] = {"path": str(path), "suffix": ".pbtxt", "options": options, "most_bytes": 2**28}
        try:
            reported[name] = profile_in_child(own | {"steps": 1, "threads": 1}, folder, report_progress)[1]
        except PlacetoError as error:
            reported[name] = str(error)
    return {}, reported


def reasons_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """{op type: why it is not run}"""
    return {}, {op_type: reason_not_to_run(op_type) for op_type in cast(list[str], order["types"])}


def median_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """[[op, ns from its start, ns to its end, ns until all is done], ...] of the median of `steps` [[op, ns], ...]."""
    stats = median_step([_traced(step) for step in cast(list[list[tuple[str, int]]], order["steps"])])
    (device,) = stats.dev_stats
    return {}, {
        "ops": [
            [each.node_name, each.op_start_rel_nanos, each.op_end_rel_nanos, each.all_end_rel_nanos]
            for each in device.node_stats
        ]
    }


def memory_of_visits_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """`idle_bytes` and `held_bytes` [visits, devices], allocated before and after a step.

    Visit i has all ops on device i, modulo their number.
    """
    runnable, names = read_runnable(order, report_progress), cast(list[str], order["devices"])
    idle_bytes, held_bytes = [], []
    with devices_of(order, set(names)) as here:
        for visit in range(cast(int, order["visits"])):
            device_of_op = {each.name: names[visit % len(names)] for each in runnable.graph.node}
            with placed_run(runnable, device_of_op, here) as (placed, _):
                placed.timed(1, Steps(report_progress, "a visit", visit, 0))
                idle_bytes.append([memory.allocated_bytes for memory in placed.idle])
                held_bytes.append([memory.allocated_bytes for memory in here.memory()])
    return {"idle_bytes": np.array(idle_bytes, dtype=float), "held_bytes": np.array(held_bytes, dtype=float)}, {}


def _traced(step: list[tuple[str, int]]) -> Message:
    """StepStats of ops that start 5 ns after their record and whose outputs take 7 ns."""
    stats = load_messages("tensorflow.core.framework.step_stats_pb2").StepStats()
    device = stats.dev_stats.add(device="/device:CPU:0")
    for name, nanoseconds in step:
        end = 5 + nanoseconds
        device.node_stats.add(node_name=name, op_start_rel_nanos=5, op_end_rel_nanos=end, all_end_rel_nanos=end + 7)
    return stats
