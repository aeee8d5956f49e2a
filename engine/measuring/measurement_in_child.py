"""Runs a placed graph step by step and reports each op's device: the child's side of `measurement.py`."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.formats.reading import read_file, source_of
from engine.graphs.device_string import DeviceString, parse_device_string
from engine.measuring.measurement import WARM_UP_STEPS
from engine.measuring.session_graph import (
    Steps,
    import_graph,
    initializers,
    run,
    runnable_graph,
    session_settings,
    timed,
    v1,
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
    real_name, virtual = _real_devices(cast(list[str], order["devices"]))
    put = {node.name: real_name[device_of_op[node.name]] for node in runnable.graph.node}
    for node in runnable.graph.node:
        node.device = put[node.name]
    cpus = 1 + max((int(_parts(name).index) for name in real_name.values() if _parts(name).type == "CPU"), default=0)
    used = len(set(put.values()))
    threads = cast(int, order["threads"]) or max(1, len(os.sched_getaffinity(0)) // used)
    settings = session_settings(threads, parallel_ops=used, cpu_devices=cpus)
    settings.allow_soft_placement = False
    steps = cast(int, order["steps"])
    with tf.Graph().as_default() as graph:
        import_graph(runnable.graph)
        start = initializers(graph.get_operations())
        targets = [graph.get_operation_by_name(name) for name in runnable.selection.targets]
        feeds = {graph.get_tensor_by_name(f"{name}:0"): value for name, value in runnable.feeds.items()}
        with v1.Session(config=settings) as session:
            run(session, start, {})
            ran = _executed(session, targets, feeds)
            progress = Steps(report_progress, STAGE, 0, WARM_UP_STEPS + steps)
            timed(session, targets, feeds, WARM_UP_STEPS, progress)
            times = timed(session, targets, feeds, steps, progress)
    texts: dict[str, Json] = {
        "devices": dict(real_name),
        "virtual": virtual,
        "threads": threads,
        "executed": sum(name in ran for name in put),
        "mismatches": [[name, put[name], ran[name]] for name in put if name in ran and ran[name] != put[name]],
        "left_out": [[name, why] for name, why in runnable.selection.left_out],
    }
    return {"wall_us": np.array(times.wall_us), "processor_us": np.array(times.processor_us)}, texts


def _real_devices(names: Sequence[str]) -> tuple[dict[str, str], bool]:
    """Device in the placement → device of this machine; and whether these are virtual CPUs in place of others.

    If the machine lacks a device that is no CPU, all devices become virtual CPUs, in their order.
    """
    gpus = len(tf.config.list_physical_devices("GPU"))
    parts = [_parts(name) for name in names]
    virtual = any(part.type != "CPU" and not (part.type == "GPU" and int(part.index) < gpus) for part in parts)
    chosen = [("CPU", index) for index in range(len(names))] if virtual else [(p.type, int(p.index)) for p in parts]
    return {name: _written(type_, index) for name, (type_, index) in zip(names, chosen, strict=True)}, virtual


def _parts(name: str) -> DeviceString:
    return parse_device_string(name, name)


def _written(device_type: str, index: int) -> str:
    return f"/job:localhost/replica:0/task:0/device:{device_type}:{index}"


def _executed(session: Any, targets: Iterable[Any], feeds: Mapping[Any, Any]) -> dict[str, str]:
    """Op → the device on which TensorFlow ran it."""
    metadata = config_pb2.RunMetadata()
    asked = config_pb2.RunOptions(output_partition_graphs=True)
    run(session, list(targets), feeds, options=asked, run_metadata=metadata)
    return {node.name: node.device for graph in metadata.partition_graphs for node in graph.node}
