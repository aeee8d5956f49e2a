"""Small recordings of PyTorch, and traces of torch.profiler, by hand."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engine.child.parent import no_progress
from engine.clusters.device_kinds import COSTED_KINDS, DEVICE_CLASSES
from engine.costs.cost_model import CostedGraph, GivenCosts, GraphWithShapes
from engine.costs.measured import MeasuredCosts
from engine.costs.pytorch.matching import profiler_trace_of
from engine.formats.node_link.reader import parsed

Json = dict[str, Any]
THREAD, BACKWARD_THREAD = 1, 2


def recording(*ops: Json, modules: Mapping[str, str] | None = None, with_shapes: bool = True) -> bytes:
    """A recording of ops in a row; each has an id, a type, and perhaps shapes and a phase."""
    table: list[Any] = []
    nodes = []
    for op in ops:
        node = {"flops": 8, "bytes_accessed": 8, "output_bytes": [4], "phase": "forward"} | op
        shapes = node.pop("shapes", None)
        if shapes is not None and with_shapes:
            table.append(shapes)
            node["input_shapes"] = len(table) - 1
        nodes.append(node)
    graph = {"framework": "torch", "modules": modules or {}, "input_shapes": table}
    return json.dumps({"graph": graph, "nodes": nodes, "edges": []}).encode()


def op(name: str, start: float, dur: float, dims: Any = None, *, thread: int = THREAD, **about: Any) -> Json:
    """An event of an op on the CPU."""
    arguments = about if dims is None else {"Input Dims": dims, **about}
    return span("cpu_op", name, start, dur, thread) | {"args": arguments}


def span(category: str, name: str, start: float, dur: float, thread: int = THREAD) -> Json:
    """Any complete event."""
    return {"ph": "X", "cat": category, "name": name, "pid": 7, "tid": thread, "ts": start, "dur": dur, "args": {}}


def kernel(dur: float, category: str = "kernel", **about: Any) -> Json:
    """An event of work on a GPU; `about`: External_id, correlation."""
    arguments = {key.replace("_", " "): value for key, value in about.items()}
    return span(category, "void gemm<float>(Params)", 1000, dur) | {"pid": 0, "args": arguments}


def launch(correlation: int, external_id: int) -> Json:
    """The event of a launch."""
    arguments = {"correlation": correlation, "External id": external_id}
    return span("cuda_runtime", "cudaLaunchKernel", 1, 1) | {"args": arguments}


def node(name: str, sequence: int, start: float, dur: float, thread: int = BACKWARD_THREAD) -> list[Json]:
    """The two events of a node of autograd that runs."""
    about = {"Sequence number": sequence, "Fwd thread id": 1}
    return [
        op(f"autograd::engine::evaluate_function: {name}", start, dur, thread=thread, **about),
        op(name, start + 0.1, dur - 0.2, thread=thread, **about),
    ]


def trace(*events: Json | Sequence[Json]) -> bytes:
    """A trace of these events, after what a trace has beside them."""
    flat = [each for event in events for each in ([event] if isinstance(event, dict) else event)]
    beside: list[Json] = [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 0, "args": {"name": "python"}},
        {"ph": "s", "id": 1, "pid": 7, "tid": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"},
    ]
    return json.dumps({"schemaVersion": 1, "traceEvents": beside + flat}).encode()


def costed(recorded: bytes, times: bytes, kind: str | None = None) -> CostedGraph:
    """The costs of a recording beside a trace."""
    found = parsed(recorded)
    graph = GraphWithShapes(found.graph, calls=found.calls)
    model = MeasuredCosts(GivenCosts(found.costs), profiler_trace_of(times), kind)
    return model.costs_of(graph, COSTED_KINDS, no_progress)


def measured(recorded: bytes, times: bytes, device_class: str = "CPU") -> dict[str, float]:
    """Name → measured time of the ops that have one."""
    found = parsed(recorded)
    costs = costed(recorded, times).costs
    row = costs.measured_us[DEVICE_CLASSES.index(device_class)].tolist()
    return {name: time for name, time in zip(found.graph.op_names, row, strict=True) if time == time}
