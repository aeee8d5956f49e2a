"""Reads the events of a Chrome trace of torch.profiler. Runs in a child: the file is untrusted.

Of the events these count, each with a start `ts` and a length `dur` in µs:

- `cpu_op`: an op, or a node of autograd, on a thread of the CPU; ops contain the ops that they call;
- `user_annotation`: `ProfilerStep#N` and `Optimizer.step#…`;
- `python_function`: the calls of modules, with `with_stack=True`;
- `kernel`, `gpu_memcpy`, `gpu_memset`: work on a GPU. Its `External id` names the op that launched it; without one its
  `correlation` is that of the launch, an event such as `cuda_runtime` with the `External id`.

Source: libkineto's output_json.cpp and torch/csrc/autograd/profiler_kineto.cpp.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from engine.costs.pytorch.recorded_calls import TensorShapes
from engine.errors import GraphError, shortened
from engine.events import Json
from engine.files.json_text import read_json

FIELD = "run_metadata"
ALLOWED = "a Chrome trace of torch.profiler, as export_chrome_trace writes it"
MOST_VALUES = 20_000_000
LATEST_US = 1e17
LONGEST_US = 1e12
"""longest time of one op: eleven days"""
LONGEST_NAME = 4096
MOST_LENGTH = 10**15
OP, ANNOTATION, PYTHON = "cpu_op", "user_annotation", "python_function"
DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = ("_runtime", "_driver")
"""ends of the categories of launches: `cuda_runtime`, `hip_runtime`, `xpu_runtime`, `cuda_driver`"""
STEP, OPTIMIZER_STEP, MODULE = "ProfilerStep#", "Optimizer.step#", "nn.Module: "
ArgumentShapes: TypeAlias = tuple[tuple[int, ...] | TensorShapes, ...]
"""an entry for each argument: the lengths of a tensor, or those of a list of tensors"""
JsonRow: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Span:
    """An event on a thread of the CPU."""

    category: str
    name: str
    start_us: float
    end_us: float
    external_id: int | None
    sequence: int | None
    """the number of a node of autograd; of an op in the forward pass: of the next node to be made"""
    shapes: ArgumentShapes | None
    """of the arguments; None without `record_shapes=True`"""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a trace says of ops."""

    threads: tuple[tuple[Span, ...], ...]
    device_us: Mapping[int, float] | None
    """External id → time of what the op itself launched on a GPU; None where nothing ran on one"""


def trace_of(content: bytes) -> Trace:
    """The trace in a file. Raises GraphError."""
    root = read_json(content, most_values=MOST_VALUES, error=GraphError, field=FIELD)
    events = root.get("traceEvents") if isinstance(root, dict) else root
    if not isinstance(events, list):
        raise GraphError("there is no list of traceEvents", allowed=ALLOWED, field=FIELD)
    rows = [cast(JsonRow, event) for event in events if isinstance(event, dict) and event.get("ph") == "X"]
    threads: dict[tuple[str, str], list[Span]] = {}
    for row in rows:
        if _counts(row):
            threads.setdefault((str(row.get("pid")), str(row.get("tid"))), []).append(_span(row))
    if not any(span.category == OP for spans in threads.values() for span in spans):
        raise GraphError("there are no ops of PyTorch in it", allowed=f"{ALLOWED}, of the CPU too", field=FIELD)
    return Trace(tuple(map(tuple, threads.values())), _device_us(rows))


def _counts(row: JsonRow) -> bool:
    """Whether the event is an op, a mark of a step, or the call of a module."""
    category, name = row.get("cat"), row.get("name")
    if category == OP:
        return True
    begins = {ANNOTATION: (STEP, OPTIMIZER_STEP), PYTHON: (MODULE,)}.get(str(category), ())
    return isinstance(name, str) and name.startswith(begins)


def _span(row: JsonRow) -> Span:
    name = row.get("name")
    if not isinstance(name, str) or not name or len(name) > LONGEST_NAME:
        what = f"an op has no name of 1 to {LONGEST_NAME} characters"
        raise GraphError(what, allowed=ALLOWED, field=FIELD)
    start = _time_us(row, "ts", LATEST_US)
    about = row.get("args")
    about = about if isinstance(about, dict) else {}
    return Span(
        category=str(row["cat"]),
        name=name,
        start_us=start,
        end_us=start + _time_us(row, "dur", LONGEST_US),
        external_id=_integer(about, "External id"),
        sequence=_integer(about, "Sequence number"),
        shapes=_shapes(about["Input Dims"], name) if "Input Dims" in about else None,
    )


def _time_us(row: JsonRow, key: str, most: float) -> float:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        where, allowed = shortened(str(row.get("name"))), f"µs from 0 to {most:g}"
        raise GraphError(f"its {key} is no time", where=where, allowed=allowed, field=FIELD)
    return float(value)


def _integer(about: JsonRow, key: str) -> int | None:
    value = about.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _shapes(value: Json, name: str) -> ArgumentShapes:
    """The lengths of each argument, of which one may be a list of tensors."""
    if not isinstance(value, list):
        raise _no_lengths(name)
    return tuple(
        tuple(_lengths(tensor, name) for tensor in entry)
        if isinstance(entry, list) and entry and isinstance(entry[0], list)
        else _lengths(entry, name)
        for entry in value
    )


def _lengths(value: Json, name: str) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise _no_lengths(name)
    for length in value:
        if isinstance(length, bool) or not isinstance(length, int) or not 0 <= length <= MOST_LENGTH:
            raise _no_lengths(name)
    return tuple(cast(list[int], value))


def _no_lengths(name: str) -> GraphError:
    what = "its Input Dims are no lengths of tensors"
    return GraphError(what, where=shortened(name), allowed=f"lists of integers from 0 to {MOST_LENGTH}", field=FIELD)


def list_of_tensors(entry: tuple[int, ...] | TensorShapes) -> TensorShapes:
    """The shapes in an entry that is a list of tensors; none in that of a tensor or a number."""
    return tuple(shape for shape in entry if isinstance(shape, tuple))


def tensors_of(shapes: ArgumentShapes | None) -> TensorShapes | None:
    """The shapes of all tensors, those in lists too, without numbers and tensors of one number."""
    if shapes is None:
        return None
    tensors = (tensor for entry in shapes for tensor in list_of_tensors(entry) or (cast(tuple[int, ...], entry),))
    return tuple(shape for shape in tensors if shape)


def _device_us(rows: Sequence[JsonRow]) -> dict[int, float] | None:
    """External id → time on a GPU. Raises GraphError."""
    launcher_of: dict[int, int] = {}
    work: list[JsonRow] = []
    for row in rows:
        category, about = row.get("cat"), row.get("args")
        if category in DEVICE_WORK:
            work.append(row)
        elif isinstance(about, dict) and isinstance(category, str) and category.endswith(LAUNCHES):
            correlation, launcher = _integer(about, "correlation"), _integer(about, "External id")
            if correlation is not None and launcher is not None:
                launcher_of[correlation] = launcher
    times: dict[int, float] = {}
    for row in work:
        about = row.get("args")
        about = about if isinstance(about, dict) else {}
        launcher = _integer(about, "External id")
        if launcher is None:
            launcher = launcher_of.get(_integer(about, "correlation") or 0)
        if launcher is not None:
            times[launcher] = times.get(launcher, 0.0) + _time_us(row, "dur", LONGEST_US)
    return times if work else None
