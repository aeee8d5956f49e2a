"""Runs a placed graph step by step and reports each op's device: the child's side of `measurement.py`."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.formats.reading import read_file, source_of
from engine.measuring.devices_here import DevicesHere, a_process_for_each, devices_of_this_process
from engine.measuring.measurement import WARM_UP_STEPS
from engine.measuring.session_graph import (
    Steps,
    import_graph,
    initializers,
    run,
    runnable_graph,
    timed,
    with_constants,
)

STAGE = "running the placed graph"


def measure_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """`wall_us` and `processor_us` [steps], and as texts the devices on which ops were placed and ran."""
    report_progress("loading TensorFlow", 0, 0)
    source = source_of(order)
    file = read_file(source, report_progress)
    assert file.graph.messages is not None
    runnable = runnable_graph(file.graph.messages, source.options, file.origin.fetches)
    device_of_op = cast(dict[str, str], order["device_of_op"])
    used = {device_of_op[node.name] for node in runnable.graph.node}
    steps = cast(int, order["steps"])
    with _devices(order, used) as here, tf.Graph().as_default() as graph:
        put = {node.name: here.names[device_of_op[node.name]] for node in runnable.graph.node}
        placed, values = runnable.graph, runnable.feeds
        if here.target:
            placed, values = with_constants(placed, values), {}
        for node in placed.node:
            node.device = put[node.name]
        import_graph(placed)
        start = initializers(graph.get_operations())
        targets = [graph.get_operation_by_name(name) for name in runnable.selection.targets]
        feeds = {graph.get_tensor_by_name(f"{name}:0"): value for name, value in values.items()}
        with here.session() as session:
            run(session, start, {})
            ran = _executed(session, targets, feeds)
            progress = Steps(report_progress, STAGE, 0, WARM_UP_STEPS + steps)
            timed(session, targets, feeds, WARM_UP_STEPS, progress)
            times = timed(session, targets, feeds, steps, progress, here.processor_seconds)
    texts: dict[str, Json] = {
        "devices": dict(here.names),
        "virtual": here.virtual,
        "threads": here.threads,
        "executed": sum(name in ran for name in put),
        "mismatches": [[name, put[name], ran[name]] for name in put if name in ran and ran[name] != put[name]],
        "left_out": [[name, why] for name, why in runnable.selection.left_out],
    }
    return {"wall_us": np.array(times.wall_us), "processor_us": np.array(times.processor_us)}, texts


@contextmanager
def _devices(order: dict[str, Json], used: set[str]) -> Iterator[DevicesHere]:
    """The devices that `order` asks for, of which the placement uses `used`."""
    names, threads = cast(list[str], order["devices"]), cast(int, order["threads"])
    if order["processes"]:
        with a_process_for_each(names, threads) as here:
            yield here
    else:
        yield devices_of_this_process(names, len(used), threads)


def _executed(session: Any, targets: Iterable[Any], feeds: Mapping[Any, Any]) -> dict[str, str]:
    """Op → the device on which TensorFlow ran it."""
    metadata = config_pb2.RunMetadata()
    asked = config_pb2.RunOptions(output_partition_graphs=True)
    run(session, list(targets), feeds, options=asked, run_metadata=metadata)
    return {node.name: node.device for graph in metadata.partition_graphs for node in graph.node}
