"""Runs a placed graph step by step and reports each op's device: the child's side of `measurement.py`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.protobuf import config_pb2

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.formats.reading import read_file, source_of
from engine.measuring.devices_here import DevicesHere, a_process_for_each, devices_of_this_process
from engine.measuring.measurement import TRACED_STEPS, WARM_UP_STEPS
from engine.measuring.process_memory import ProcessMemory
from engine.measuring.session_graph import (
    RunnableGraph,
    Steps,
    StepTimes,
    import_graph,
    initializers,
    run,
    runnable_graph,
    timed,
    with_constants,
)
from engine.measuring.tracing_in_child import traced_step

STAGE = "running the placed graph"


def measure_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """`wall_us` and `processor_us` [steps], and as texts the devices on which ops were placed and ran.

    On CPUs also the spans of a traced step (see `step_record.arrays_of`; their `names` are among the texts); of
    processes `memory` [devices, 2], the most that each held above its idle server, allocated and resident, NaN
    where the system reports none.
    """
    report_progress("loading TensorFlow", 0, 0)
    runnable = read_runnable(order, report_progress)
    device_of_op = cast(dict[str, str], order["device_of_op"])
    used = {device_of_op[node.name] for node in runnable.graph.node}
    steps = cast(int, order["steps"])
    with devices_of(order, used) as here, placed_run(runnable, device_of_op, here) as (placed, put):
        on_cpus = all("CPU" in name for name in here.names.values())
        progress = Steps(report_progress, STAGE, 0, WARM_UP_STEPS + steps + on_cpus * TRACED_STEPS)
        ran = _executed(placed)
        placed.timed(WARM_UP_STEPS, progress)
        if here.target:
            here.memory(reset=True)
        times = placed.timed(steps, progress)
        arrays: dict[str, NDArray[np.generic]] = {}
        if here.target:
            arrays["memory"] = np.array([now.above(idle) for now, idle in zip(here.memory(), placed.idle, strict=True)])
        names: list[str] = []
        if on_cpus:
            traced, names = placed.traced([*here.names.values()], TRACED_STEPS, progress)
            arrays |= traced
    texts: dict[str, Json] = {
        "devices": dict(here.names),
        "virtual": here.virtual,
        "threads": here.threads,
        "executed": sum(name in ran for name in put),
        "mismatches": [[name, put[name], ran[name]] for name in put if name in ran and ran[name] != put[name]],
        "left_out": [[name, why] for name, why in runnable.selection.left_out],
        "names": [*names],
    }
    return arrays | {"wall_us": np.array(times.wall_us), "processor_us": np.array(times.processor_us)}, texts


def read_runnable(order: dict[str, Json], report_progress: ReportProgress) -> RunnableGraph:
    """The graph of `order`, ready to run."""
    source = source_of(order)
    file = read_file(source, report_progress)
    assert file.graph.messages is not None
    return runnable_graph(file.graph.messages, source.options, file.origin.fetches)


@dataclass(frozen=True, slots=True)
class PlacedRun:
    """A placed graph in a session, its variables set."""

    session: Any
    targets: Sequence[Any]
    feeds: Mapping[Any, Any]
    processor_seconds: Callable[[], float]
    idle: Sequence[ProcessMemory]
    """[processes] what each held before the variables were set"""

    def timed(self, steps: int, progress: Steps) -> StepTimes:
        """Run this many steps and take their times."""
        return timed(self.session, self.targets, self.feeds, steps, progress, self.processor_seconds)

    def traced(
        self, devices: Sequence[str], steps: int, progress: Steps
    ) -> tuple[dict[str, NDArray[np.generic]], list[str]]:
        """The spans of the median of this many traced steps."""
        return traced_step(self.session, self.targets, self.feeds, devices, steps, progress)


@contextmanager
def placed_run(
    runnable: RunnableGraph, device_of_op: Mapping[str, str], here: DevicesHere
) -> Iterator[tuple[PlacedRun, dict[str, str]]]:
    """The graph with each op on its device of the placement, in a session; and op → device of this machine."""
    with tf.Graph().as_default() as graph:
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
            idle = here.memory() if here.target else []
            run(session, start, {})
            yield PlacedRun(session, targets, feeds, here.processor_seconds, idle), put


@contextmanager
def devices_of(order: dict[str, Json], used: set[str]) -> Iterator[DevicesHere]:
    """The devices that `order` asks for; the placement uses `used` of them."""
    names, threads = cast(list[str], order["devices"]), cast(int, order["threads"])
    if order["processes"]:
        with a_process_for_each(names, threads) as here:
            yield here
    else:
        yield devices_of_this_process(names, len(used), threads)


def _executed(placed: PlacedRun) -> dict[str, str]:
    """Op → the device on which TensorFlow ran it."""
    metadata = config_pb2.RunMetadata()
    asked = config_pb2.RunOptions(output_partition_graphs=True)
    run(placed.session, placed.targets, placed.feeds, options=asked, run_metadata=metadata)
    return {node.name: node.device for graph in metadata.partition_graphs for node in graph.node}
