"""Measures large graphs as Markdown: grouping in levels, the first answer, the memory of all processes: `bench sizes`.

Graphs are random layers, written as node-link JSON and placed by `python -m engine place` with its default method. The
first answer is the first baseline's step time, from the start of the command on, file and grouping included.
"""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from engine.formats.node_link.writer import write_nodelink
from engine.graphs.grouping.levels import nested_groupings
from engine.number_words import bytes_words
from engine.zoo.random_graphs import random_graph
from experiments.bench.simulator import SEED, machine, table

OPS = (20_000, 100_000)
SHAPE, CLUSTER, SECONDS = "layered", "4xK80", 10
SECONDS_BETWEEN_LOOKS = 0.05
FIRST_ANSWER = "single_device: "
"""how the line of the first answer begins"""


def run_benchmark() -> str:
    """Measure both sizes; returns them as Markdown."""
    _grouped(500)  # loads the compiled code
    head = (
        "ops",
        "levels",
        "grouping, s of processor",
        "first answer, s",
        "the command, s",
        "peak memory, all processes",
    )
    return f"{machine('Large graphs')}\n\n{table(head, [_row(ops) for ops in OPS])}\n"


def _grouped(ops: int) -> tuple[bytes, int, float]:
    """A random graph as node-link JSON, the number of its levels, and the processor time of grouping it."""
    prepared = random_graph(SHAPE, ops, np.random.default_rng(SEED))
    begin = time.process_time()
    levels = nested_groupings(prepared.graph, prepared.costs)
    seconds = time.process_time() - begin
    return write_nodelink(prepared.graph, prepared.costs), len(levels), seconds


def _row(ops: int) -> tuple[str, ...]:
    text, levels, grouping_seconds = _grouped(ops)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.json"
        path.write_bytes(text)
        first_seconds, seconds, peak_bytes = placed(path)
    times = (f"{figure:.1f}" for figure in (grouping_seconds, first_seconds, seconds))
    return f"{ops:,}", str(levels), *times, bytes_words(peak_bytes)


def placed(path: Path) -> tuple[float, float, int]:
    """Seconds to the first answer and to the end of a command that places a graph, and the peak memory it held."""
    begin = time.monotonic()
    command = [sys.executable, "-m", "engine", "place", str(path), "--cluster", CLUSTER, "--seconds", str(SECONDS)]
    command += ["--report", str(path.with_name("report.json"))]
    first: list[float] = []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603  # our own words
        listener = threading.Thread(target=_listen, args=(process, begin, first))
        listener.start()
        peak_bytes = 0
        while process.poll() is None:
            peak_bytes = max(peak_bytes, sum(map(memory_bytes, family(process.pid))))
            time.sleep(SECONDS_BETWEEN_LOOKS)
        listener.join()
    assert process.returncode == 0 and first, "the command failed"
    return first[0], time.monotonic() - begin, peak_bytes


def _listen(process: "subprocess.Popen[str]", begin: float, first: list[float]) -> None:
    """Read the command's lines to their end; `first` gets the seconds until the first answer."""
    assert process.stderr is not None
    first.extend(time.monotonic() - begin for line in process.stderr if line.startswith(FIRST_ANSWER))


def family(process: int) -> Iterator[int]:
    """A process, its children and theirs; Linux alone says which they are."""
    yield process
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # a thread has ended
            for child in children.read_text().split():
                yield from family(int(child))


def memory_bytes(process: int) -> int:
    """Resident memory of a process; each page that several share is divided among them."""
    with suppress(OSError):  # it has ended
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0
