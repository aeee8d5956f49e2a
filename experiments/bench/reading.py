"""Measures the steps from an upload to groups, in time and peak memory: `python -m experiments bench reading`.

The graphs are training steps of several sizes and one of constants as large as a file may be. Each goes the way of an
upload: it is checked, read, costed and grouped (`engine/formats/`), packed for the database and laid out.
"""

import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from engine.child.parent import MEBIBYTE, Limits, run_in_child
from engine.costs.estimated import ESTIMATING
from engine.events import Json
from engine.formats.graphdef import INLINING, OPENING, READING
from engine.formats.reading import GROUPING, check_upload, prepare

TRAINING_OPS = (1_000, 10_000, 20_000, 100_000)
CONSTANT_BYTES = (4 * MEBIBYTE, 60 * 1024)
"""bytes of one constant in the files of constants"""
LIMITS = Limits()
BUILD_LIMITS = Limits(memory_bytes=8 * 1024**3)
SECONDS_BETWEEN_LOOKS = 0.01
STEPS = {OPENING: "opening", INLINING: "inlining", READING: "reading", ESTIMATING: "costing", GROUPING: "grouping"}
Answer = TypeVar("Answer")


@dataclass(slots=True)
class ReadingStep:
    """The time and memory of one step."""

    name: str
    seconds: float
    child_mebibytes: int
    """most resident memory of a child; 0 without children, or if the system does not report it"""


class Watch:
    """Times steps one after the other and watches the children's memory."""

    def __init__(self) -> None:
        self.steps: list[ReadingStep] = []
        self._since = time.perf_counter()
        self._running: ReadingStep | None = None

    def begin(self, name: str) -> None:
        """Begin this step and end the one before, if it is another."""
        if self._running is None or self._running.name != name:
            self.end()
            self._running, self._since = ReadingStep(name, 0.0, 0), time.perf_counter()

    def end(self) -> None:
        if self._running is not None:
            self._running.seconds = time.perf_counter() - self._since
            self.steps.append(self._running)
        self._running = None

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Watch the children's memory until the context ends."""
        done = threading.Event()
        thread = threading.Thread(target=self._look, args=(done,))
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _look(self, done: threading.Event) -> None:
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            step, peak = self._running, max(map(_peak_mebibytes, _children()), default=0)
            if step is not None:
                step.child_mebibytes = max(step.child_mebibytes, peak)


def run_benchmark() -> str:
    """Measure all figures and return them as Markdown."""
    head = [
        "| graph | file | step | seconds | peak of the child, MiB |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "graph.pb"
        rows = [row for label in _built(path) for row in _rows(label, path)]
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    foot = f"Peak of the process itself, over all graphs: {own} MiB. A child may take {LIMITS.memory_bytes >> 20} MiB."
    return "\n".join([*head, *rows, "", foot])


def _built(path: Path) -> Iterator[str]:
    """Write each graph in turn to `path` and yield its label."""
    for ops in TRAINING_OPS:
        made = _made("build_training_graph_in_child", path, ops=ops)
        yield f"training step, {made:,} ops"
    for size in CONSTANT_BYTES:
        made = _made("build_constants_in_child", path, constant_bytes=size, file_bytes=LIMITS.file_bytes)
        yield f"{made // 2:,} constants of {size // 1024:,} KiB"


def _made(function: str, path: Path, **settings: int) -> int:
    """Build a graph and return its number of ops."""
    order: dict[str, Json] = {"path": str(path), **settings}
    _, texts = run_in_child(f"experiments.bench.large_graphs:{function}", order, BUILD_LIMITS, task="building")
    ops = texts["ops"]
    assert isinstance(ops, int)
    return ops


def _rows(label: str, path: Path) -> list[str]:
    """The graph's rows of the table."""
    watch = Watch()
    size = f"{path.stat().st_size / MEBIBYTE:.1f} MiB"
    with watch.looking():
        watch.begin("checking")
        check_upload(path, path.suffix, LIMITS)
        prepared = prepare(path, path.suffix, lambda stage, _done, _total: watch.begin(STEPS.get(stage, stage)), LIMITS)
        for name, task in (("packing", prepared.to_bytes), ("summary", prepared.summary), ("layout", prepared.view)):
            _take(watch, name, task)
        watch.end()
    total = ReadingStep(
        "**all**", sum(step.seconds for step in watch.steps), max(step.child_mebibytes for step in watch.steps)
    )
    return [
        f"| {label} | {size} | {step.name} | {step.seconds:.2f} | {step.child_mebibytes or ''} |"
        for step in [*watch.steps, total]
    ]


def _take(watch: Watch, name: str, task: Callable[[], object]) -> None:
    watch.begin(name)
    task()


def _children() -> list[Path]:
    """The child processes of this one, if the system lists them."""
    try:
        listed = [task.joinpath("children").read_text().split() for task in Path("/proc/self/task").iterdir()]
    except OSError:  # no such system, or a thread that has just ended
        return []
    return [Path("/proc") / process for of_task in listed for process in of_task]


def _peak_mebibytes(process: Path) -> int:
    """The most resident memory that a process has had."""
    try:
        lines = process.joinpath("status").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return sum(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))
