"""Measures the simulator's speed as Markdown, with the machine: `python -m experiments bench simulator`.

Times are the best of several, since other work on the machine only adds to them.
`python -m tests.engine.simulator.yardstick` sets the simulator beside its slow twin.
"""

import itertools
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numba
import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.costs.costs import Costs
from engine.graphs.graph import ComputationGraph
from engine.simulator.batches import evaluate_batch, usable_cores
from engine.simulator.simulator import Simulator
from engine.simulator.streams.passes import usual_pipeline
from engine.simulator.streams.stream import Stream
from experiments.bench.training_graph import make_training_graph
from experiments.problems import GRAPH, prepared_graph

STAGES, MICRO_BATCHES = 4, (1, 8, 32)
TURNS_SIDE_BY_SIDE = 15
GROUPS = 128
LOOP_OPS = (120, 10_000)
SCALES = (1_000, 10_000, 100_000, 1_000_000)
SECONDS_A_FIGURE = 0.6
MOST_TURNS = 200
LOOP_WORK = 400_000
"""ops simulated in one turn of a loop"""
SEED = 0


@dataclass(frozen=True, slots=True)
class BenchGraph:
    """A graph for the measurements."""

    name: str
    graph: ComputationGraph
    costs: Costs
    group_of_op: NDArray[np.int32]
    """[ops]"""


def run_benchmark() -> str:
    """Measure all figures on synthetic training steps and Inception-V3; returns them as Markdown."""
    prepared = prepared_graph(lambda _: None)
    name = f"{GRAPH}, {prepared.graph.op_count:,} ops"
    return figures_of([BenchGraph(name, prepared.graph, prepared.costs, prepared.grouping.group_of_op)])


def figures_of(graphs: Sequence[BenchGraph]) -> str:
    """Measure all figures on synthetic training steps and `graphs`; returns them as Markdown."""
    parts = [
        machine("Simulator"),
        "## Evaluations a second\n\n" + _loops([*map(training_step, LOOP_OPS), *graphs]),
        "## Streams of micro-batches\n\n" + _streams(graphs),
        "## Growth\n\n" + _growth(),
        "## A fresh process\n\n" + _fresh_processes(),
    ]
    return "\n\n".join(parts) + "\n"


def training_step(ops: int) -> BenchGraph:
    """A synthetic training step of about `ops` ops; groups are runs of the file."""
    graph, costs = make_training_graph(ops, np.random.default_rng(SEED))
    groups = np.arange(graph.op_count) * GROUPS // graph.op_count
    return BenchGraph(f"training step, {graph.op_count:,} ops", graph, costs, groups.astype(np.int32))


def published_cluster(devices: int, memory_model: MemoryModel) -> Cluster:
    """A cluster of K80s as the published simulator models them."""
    return Cluster(
        devices=tuple(Device(f"/device:GPU:{index}", "K80", 12 * 1024**3) for index in range(devices)),
        contention=Contention.BUS,
        bandwidth_bytes_per_us=np.full((devices, devices), 7600.0),
        latency_us=np.zeros((devices, devices)),
        link_rest_us=25.0,
        op_rest_us=5.7,
        memory_model=memory_model,
    )


def best_seconds(action: Callable[[], object]) -> float:
    """The shortest time of several turns, after one that does not count."""
    action()
    best, begin = float("inf"), time.perf_counter()
    for _ in range(MOST_TURNS):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begin > SECONDS_A_FIGURE:
            break
    return best


def machine(title: str) -> str:
    """`title` as a heading, and below it the machine with its versions and its load."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    versions = f"Python {platform.python_version()}, numba {numba.__version__}, numpy {np.__version__}"
    load = f"load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return f"# {title}\n\n{model}, {usable_cores()} cores, {platform.system()}; {versions}; {load}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def random_placements(count: int, groups: int, devices: int) -> NDArray[np.int32]:
    """[count, groups] devices drawn at random, always the same."""
    return np.random.default_rng(SEED).integers(0, devices, (count, groups), dtype=np.int32)


def unit(bench: BenchGraph, by_group: bool) -> str:
    """What of the graph is placed, in words."""
    return f"{bench.group_of_op.max() + 1} groups" if by_group else "ops"


def _loops(graphs: Sequence[BenchGraph]) -> str:
    """Time random placements of groups and of ops, from compiled code and through the Python API."""
    rows = []
    for bench, by_group in itertools.product(graphs, (True, False)):
        group_of_op = bench.group_of_op if by_group else None
        simulator = Simulator(bench.graph, bench.costs, published_cluster(2, MemoryModel.FULL), group_of_op)
        count = max(8, LOOP_WORK // bench.graph.op_count)
        placements = random_placements(count, simulator.group_count, 2)
        loop = count / best_seconds(_compiled_loop(simulator, placements))
        one = count / best_seconds(partial(simulator.evaluate, placements, threads=1))
        every = count / best_seconds(partial(simulator.evaluate, placements))
        figures = f"{loop:,.0f}", f"{one:,.0f}", f"{one / loop:.0%}", f"{every:,.0f}", f"{every / one:.2f}"
        rows.append((bench.name, unit(bench, by_group), *figures))
    head = ("graph", "placed", "compiled loop", "API, one thread", "share", f"API, {usable_cores()} cores", "factor")
    return table(head, rows)


def _streams(graphs: Sequence[BenchGraph]) -> str:
    """Time batches and periods of one contiguous placement, side by side with its step, on one thread."""
    rows = []
    for bench in [*map(training_step, LOOP_OPS), *graphs]:
        cluster = published_cluster(STAGES, MemoryModel.FULL)
        step = Simulator(bench.graph, bench.costs, cluster, bench.group_of_op)
        placement = (np.arange(step.group_count) * STAGES // step.group_count).astype(np.int32)
        several = np.tile(placement, (max(8, LOOP_WORK // 10 // bench.graph.op_count), 1))
        for micro_batches in MICRO_BATCHES:
            stream = Stream(micro_batches, usual_pipeline(bench.graph))
            simulator = Simulator(bench.graph, bench.costs, cluster, bench.group_of_op, stream)
            prepared = simulator.prepared_batch(placement)
            steps, batches, periods = _side_by_side(
                partial(step.evaluate, several, threads=1),
                prepared,
                partial(simulator.evaluate, several, threads=1),
            )
            one_step = steps / len(several)
            batch, period = batches / micro_batches / one_step, periods / len(several) / one_step
            rows.append((bench.name, micro_batches, f"{1e6 * one_step:,.0f}", f"{batch:.2f}", f"{period:.2f}"))
    head = ("graph", "micro-batches", "µs a step", "a micro-batch of a batch, in steps", "a period, in steps")
    return table(head, rows)


def _side_by_side(*actions: Callable[[], object]) -> list[float]:
    """The shortest time of each action, in turns, so that a load on the machine slows all of them."""
    best = [float("inf")] * len(actions)
    for turn in range(1 + TURNS_SIDE_BY_SIDE):
        for index, action in enumerate(actions):
            start = time.perf_counter()
            action()
            if turn:  # the first one warms up
                best[index] = min(best[index], time.perf_counter() - start)
    return best


def _compiled_loop(simulator: Simulator, placements: NDArray[np.int32]) -> Callable[[], object]:
    scratch = simulator.new_scratch()
    step_time_us = np.empty(len(placements))
    peak_bytes = np.empty((len(placements), simulator.cluster.device_count), dtype=np.int64)
    return lambda: evaluate_batch(simulator.tables, scratch, placements, step_time_us, peak_bytes)


def _growth() -> str:
    rows = []
    for ops in SCALES:
        bench = training_step(ops)
        size = bench.graph.op_count + bench.graph.edge_count
        cluster = published_cluster(4, MemoryModel.FULL)
        start = time.perf_counter()
        simulator = Simulator(bench.graph, bench.costs, cluster, bench.group_of_op)
        made = time.perf_counter() - start
        placement = random_placements(1, simulator.group_count, 4)
        evaluated = best_seconds(partial(simulator.evaluate, placement))
        start = time.perf_counter()
        simulator.timeline(placement[0])
        drawn = time.perf_counter() - start
        scratch = simulator.new_scratch()
        arrays = [*simulator.tables, *scratch.stream, *(part for part in scratch if isinstance(part, np.ndarray))]
        held = sum(array.nbytes for array in arrays)
        rows.append(
            (
                f"{bench.graph.op_count:,}",
                f"{bench.graph.edge_count:,}",
                f"{made:.3f}",
                f"{evaluated * 1e3:.3f}",
                f"{evaluated * 1e9 / size:.1f}",
                f"{drawn:.3f}",
                f"{held / 1e6:.1f}",
                f"{held / size:.0f}",
            )
        )
    head = (
        "ops",
        "edges",
        "tables made, s",
        "evaluation, ms",
        "ns an op or edge",
        "timeline, s",
        "memory, MB",
        "bytes an op or edge",
    )
    return table(head, rows)


FRESH = """
import numpy as np
from experiments.bench.simulator import training_step, published_cluster, MemoryModel
from engine.simulator import Simulator
bench = training_step(120)
simulator = Simulator(bench.graph, bench.costs, published_cluster(2, MemoryModel.FULL), bench.group_of_op)
simulator.evaluate(np.zeros((1, simulator.group_count), dtype=np.int32))
"""


def _fresh_processes() -> str:
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", FRESH], check=True)  # noqa: S603 - this interpreter, the text above
        seconds.append(f"{time.perf_counter() - start:.2f}")
    return (
        f"From start to the first evaluation and exit, imports included, one after the other: {', '.join(seconds)} s."
    )
