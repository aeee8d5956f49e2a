"""Measures the simulator beside its slow twin as Markdown: `python -m tests.engine.simulator.yardstick`.

The twin is plain Python and event by event, as the published simulator is; both simulate the same placement of the same
graph in the same run. Times are the best of several, since other work on the machine only adds to them.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import MemoryModel
from engine.simulator.simulator import Simulator
from experiments.bench.simulator import (
    BenchGraph,
    best_seconds,
    machine,
    published_cluster,
    random_placements,
    table,
    training_step,
    unit,
)
from experiments.problems import GRAPH, prepared_graph
from tests.engine.simulator import slow_memory
from tests.engine.simulator.slow_twin import SlowTwin

SIZES = (10_000, 22_700)


def evaluations(graphs: Sequence[BenchGraph]) -> str:
    """Time random placements with the slow twin and with one call of `Simulator.evaluate`."""
    rows = []
    for bench, memory_model, by_group in itertools.product(
        graphs, (MemoryModel.FULL, MemoryModel.OUTPUTS), (True, False)
    ):
        cluster = published_cluster(2, memory_model)
        group_of_op = bench.group_of_op if by_group else np.arange(bench.graph.op_count, dtype=np.int32)
        simulator = Simulator(bench.graph, bench.costs, cluster, group_of_op)
        placement = random_placements(1, simulator.group_count, 2)
        slow = best_seconds(_slow_step(SlowTwin(bench.graph, bench.costs, cluster), placement[0][group_of_op]))
        fast = best_seconds(partial(simulator.evaluate, placement))
        figures = f"{slow * 1e3:.1f}", f"{fast * 1e3:.3f}", f"{slow / fast:.0f}"
        rows.append((bench.name, memory_model, unit(bench, by_group), *figures))
    return table(("graph", "memory", "placed at random", "slow twin, ms", "simulator, ms", "times faster"), rows)


def _slow_step(twin: SlowTwin, device_of_op: NDArray[np.int32]) -> Callable[[], object]:
    return lambda: slow_memory.peaks(twin.simulate(device_of_op))


if __name__ == "__main__":
    prepared = prepared_graph(lambda _: None)
    name = f"{GRAPH}, {prepared.graph.op_count:,} ops"
    inception = BenchGraph(name, prepared.graph, prepared.costs, prepared.grouping.group_of_op)
    print(machine("One evaluation, one core"))
    print(f"\n{evaluations([*map(training_step, SIZES), inception])}")
