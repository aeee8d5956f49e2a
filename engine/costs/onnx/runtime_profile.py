"""Reads a profile of ONNX Runtime (Chrome JSON): the time of each node in a step. Runs in a child; loads no `onnx`.

Of several runs the first one, which warms up, does not count. On a GPU the times are those of the launches.
"""

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np

from engine.costs.measured import StepStats
from engine.costs.onnx.node_memory import is_node_memory, stats_of_node_memory
from engine.errors import GraphError, shortened
from engine.events import Json
from engine.files.json_text import read_json

MOST_VALUES = 20_000_000
SUFFIX = "_kernel_time"
CPU_PROVIDER = "CPUExecutionProvider"
ALLOWED = "a profile of ONNX Runtime, as session.end_profiling() names it"


def stats_of_runtime(content: bytes) -> StepStats:
    """The step stats in a file of ONNX Runtime: a profile, or the memory of nodes. Raises GraphError."""
    return stats_of_node_memory(content) if is_node_memory(content) else stats_of_profile(content)


def stats_of_profile(content: bytes) -> StepStats:
    """The step stats in a profile. Raises GraphError."""
    events = read_json(content, most_values=MOST_VALUES, error=GraphError, field="run_metadata")
    if not isinstance(events, list):
        raise GraphError("this is no list of events", allowed=ALLOWED, field="run_metadata")
    rows = [cast(Mapping[str, Json], event) for event in events if isinstance(event, dict)]
    starts = sorted(_number(event, "ts") for event in rows if event.get("name") == "model_run")
    begin = starts[1] if len(starts) > 1 else float("-inf")
    runs = max(len(starts) - 1, 1)
    times: dict[tuple[str, str], float] = {}
    for event in _nodes(rows):
        if _number(event, "ts") >= begin:
            key = str(event["name"]).removesuffix(SUFFIX), _class(event)
            times[key] = times.get(key, 0.0) + _number(event, "dur")
    if not times:
        raise GraphError("there are no times of nodes", allowed=ALLOWED, field="run_metadata")
    count = len(times)
    return StepStats(
        names=tuple(name for name, _ in times),
        classes=tuple(device_class for _, device_class in times),
        time_us=np.array(list(times.values())) / runs,
        temporary_bytes=np.full(count, -1, dtype=np.int64),
        is_kernel=np.zeros(count, dtype=np.bool_),
        output=np.empty((0, 3), dtype=np.int64),
    )


def _nodes(events: list[Mapping[str, Json]]) -> Iterator[Mapping[str, Json]]:
    """The events with the time of a node."""
    for event in events:
        if event.get("cat") == "Node" and isinstance(event.get("name"), str) and str(event["name"]).endswith(SUFFIX):
            yield event


def _class(event: Mapping[str, Json]) -> str:
    """The class of the device whose provider ran the node."""
    arguments = event.get("args")
    provider = arguments.get("provider") if isinstance(arguments, dict) else None
    return "CPU" if provider in (None, CPU_PROVIDER) else "GPU"


def _number(event: Mapping[str, Json], key: str) -> float:
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 10**15:
        what = f"its {key} is no time"
        raise GraphError(what, where=shortened(str(event.get("name"))), allowed="µs from 0", field="run_metadata")
    return float(value)
