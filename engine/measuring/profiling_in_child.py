"""Runs a graph with full tracing and leaves its RunMetadata: the child's side of `profiling.py`.

Each device class of the machine gets a separate pass, with all ops on it that have a kernel there: first the CPU, then
a GPU if there is one. Ops run one at a time, so that none waits for another's processors.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, cast

import tensorflow as tf
from tensorflow.core.framework import step_stats_pb2
from tensorflow.core.protobuf import config_pb2

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.formats.reading import read_file, source_of
from engine.graphs.tensorflow.messages import Message
from engine.measuring.profiling import METADATA_FILE
from engine.measuring.session_graph import (
    RunnableGraph,
    Steps,
    StepTimes,
    import_graph,
    initializers,
    run,
    runnable_graph,
    session_settings,
    timed,
    v1,
)

STAGE = "running the graph"
WARM_UP_STEPS = 2


def profile_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Write `METADATA_FILE`, and return as texts what was run and its step times."""
    steps, threads = cast(int, order["steps"]), cast(int, order["threads"])
    report_progress("loading TensorFlow", 0, 0)
    source = source_of(order)
    file = read_file(source, report_progress)
    messages = file.graph.messages
    assert messages is not None
    runnable = runnable_graph(messages, source.options, file.origin.fetches)
    classes = ["CPU"] + ["GPU"] * bool(tf.config.list_physical_devices("GPU"))
    stats = step_stats_pb2.StepStats()
    step_time_us: dict[str, Json] = {}
    processor_us: dict[str, Json] = {}
    for number, device_class in enumerate(classes):
        progress = Steps(
            report_progress, STAGE, number * (WARM_UP_STEPS + 2 * steps), len(classes) * (WARM_UP_STEPS + 2 * steps)
        )
        traced, times = _pass(runnable, device_class, steps, threads, progress)
        stats.dev_stats.extend(each for each in traced.dev_stats if f"{device_class}:0" in each.device.upper())
        step_time_us[device_class] = median(times.wall_us)
        processor_us[device_class] = median(times.processor_us)
    metadata = config_pb2.RunMetadata(step_stats=stats)
    (folder / METADATA_FILE).write_bytes(metadata.SerializeToString(deterministic=True))
    measured = {each.node_name for device in stats.dev_stats for each in device.node_stats}
    return {}, {
        "notes": list(file.origin.notes),
        "ops": file.graph.graph.op_count,
        "measured_ops": sum(node.name in measured for node in messages.nodes),
        "classes": list(classes),
        "step_time_us": step_time_us,
        "processor_us": processor_us,
        "targets": list(runnable.selection.targets),
        "left_out": [[name, why] for name, why in runnable.selection.left_out],
    }


def _pass(
    runnable: RunnableGraph, device_class: str, steps: int, threads: int, progress: Steps
) -> tuple[Message, StepTimes]:
    """The step stats of the median traced step on one device, and the times of untraced steps."""
    placed = type(runnable.graph)()
    placed.CopyFrom(runnable.graph)
    for node in placed.node:
        node.device = f"/device:{device_class}:0"
    settings = session_settings(threads, parallel_ops=1)
    settings.allow_soft_placement = True  # an op without a kernel on a GPU runs on the CPU, and does not count here
    with tf.Graph().as_default() as graph:
        import_graph(placed)
        start = initializers(graph.get_operations())
        targets = [graph.get_operation_by_name(name) for name in runnable.selection.targets]
        feeds = {graph.get_tensor_by_name(f"{name}:0"): value for name, value in runnable.feeds.items()}
        with v1.Session(config=settings) as session:
            run(session, start, {})
            for _ in range(WARM_UP_STEPS):
                progress.next()
                run(session, targets, feeds)
            times = timed(session, targets, feeds, steps, progress)
            traced = [_traced(session, targets, feeds, progress.next) for _ in range(steps)]
    return median_step(traced), times


def _traced(session: Any, targets: Sequence[Any], feeds: dict[Any, Any], progress: Callable[[], None]) -> Message:
    """The step stats of one step."""
    progress()
    metadata = config_pb2.RunMetadata()
    tracing = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
    run(session, targets, feeds, options=tracing, run_metadata=metadata)
    return metadata.step_stats


def median_step(traced: Sequence[Message]) -> Message:
    """The median of the `traced` steps, with each op's time replaced by its median over the steps.

    Otherwise an op that was interrupted in one step would distort all uses of the profile.
    """
    medians = {key: median(times) for key, times in _times_of_ops(traced).items()}
    chosen = sorted(traced, key=lambda stats: sum(map(_nanoseconds, _records(stats))))[(len(traced) - 1) // 2]
    time_in_step = {key: times[0] for key, times in _times_of_ops([chosen]).items()}
    for device in chosen.dev_stats:
        for record in device.node_stats:
            key = (device.device, record.node_name)
            if time_in_step[key] > 0:
                _set_nanoseconds(record, _nanoseconds(record) * medians[key] / time_in_step[key])
    return chosen


def _times_of_ops(traced: Sequence[Message]) -> dict[tuple[str, str], list[float]]:
    """(device, op) → ns in each step that ran it; several runs in a step count with their sum."""
    times: dict[tuple[str, str], list[float]] = {}
    for stats in traced:
        of_step: dict[tuple[str, str], float] = {}
        for device in stats.dev_stats:
            for record in device.node_stats:
                key = (device.device, record.node_name)
                of_step[key] = of_step.get(key, 0.0) + _nanoseconds(record)
        for key, time in of_step.items():
            times.setdefault(key, []).append(time)
    return times


def _records(stats: Message) -> Iterator[Message]:
    """The records of all executions of ops."""
    for device in stats.dev_stats:
        yield from device.node_stats


def _nanoseconds(record: Message) -> float:
    return float(record.op_end_rel_nanos - record.op_start_rel_nanos)


def _set_nanoseconds(record: Message, nanoseconds: float) -> None:
    """Set the op's duration, and move its later times along."""
    after = record.all_end_rel_nanos - record.op_end_rel_nanos
    record.op_end_rel_nanos = record.op_start_rel_nanos + round(nanoseconds)
    record.all_end_rel_nanos = record.op_end_rel_nanos + after
    record.op_end_rel_micros = record.op_end_rel_nanos // 1000
    record.all_end_rel_micros = record.all_end_rel_nanos // 1000
