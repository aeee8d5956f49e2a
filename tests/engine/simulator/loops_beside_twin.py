"""Compares steps of drawn graphs with loops with their slow twin, which unrolls every trip.

python -m tests.engine.simulator.loops_beside_twin [CASES]
"""

import sys
from dataclasses import dataclass

import numpy as np

from engine.clusters.cluster import Cluster, Contention
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import CONTROL
from engine.graphs.loop_order import with_loop_order
from engine.simulator import Simulator, Timeline
from engine.simulator.bound import lower_bound_us
from tests.engine.simulator.cases import cluster_of
from tests.engine.simulator.drawn_loops import LoopDrawing

SHARES = (0, 1, 5, 25, 50, 75, 95, 99, 100)


@dataclass(frozen=True, slots=True)
class Pair:
    """One drawn case: the step with loops and the unrolled one, in µs."""

    seed: int
    devices: int
    contention: Contention
    rests: bool
    step_us: float
    unrolled_us: float
    one_after_the_other_us: float
    """all that the unrolled step's devices and links do, one thing after the other, and the signals of the order"""
    lower_bound_us: float

    @property
    def ratio(self) -> float:
        return self.step_us / self.unrolled_us


def drawn_pair(seed: int, devices: int) -> Pair:
    """The case of this seed on so many devices."""
    rng = np.random.default_rng(seed)
    drawing = LoopDrawing(rng, deepest=int(rng.integers(1, 4)))
    cluster = _cluster(rng, devices)
    device_of_op = drawing.place(devices)
    graph, costs = drawing.graph.as_loops()
    graph = with_loop_order(graph)
    signals = trips_of_edges(graph, costs.trips_of_op())[graph.edge_output == CONTROL].sum()
    signals_us = float(signals) * (cluster.latency_us.max() + cluster.link_rest_us)
    step_us = Simulator(graph, costs, cluster).timeline(device_of_op).step_time_us
    unrolled, unrolled_costs, unrolled_devices = drawing.graph.unrolled(device_of_op)
    timeline = Simulator(unrolled, unrolled_costs, cluster).timeline(unrolled_devices)
    return Pair(
        seed,
        devices,
        cluster.contention,
        cluster.link_rest_us + cluster.op_rest_us > 0,
        step_us,
        timeline.step_time_us,
        _all_work_us(timeline) + signals_us,
        lower_bound_us(graph, costs, cluster),
    )


def _cluster(rng: np.random.Generator, devices: int) -> Cluster:
    return cluster_of(
        devices,
        list(Contention)[rng.integers(len(Contention))],
        latency_us=float(rng.choice([0, 3])),
        link_rest_us=float(rng.choice([0, 25])),
        op_rest_us=float(rng.choice([0, 5.7])),
    )


def _all_work_us(timeline: Timeline) -> float:
    transfers_us = (timeline.transfers.end_us - timeline.transfers.start_us).sum()
    return float(
        (timeline.end_us - timeline.start_us).sum() + transfers_us + np.maximum(timeline.rest_after_us, 0).sum()
    )


def main(cases: int) -> None:
    """Print the ratios' quantiles."""
    drawn = [drawn_pair(seed, 2 + seed % 3) for seed in range(cases)]
    pairs = [pair for pair in drawn if pair.unrolled_us > 0]
    for label, some in (
        ("all", pairs),
        ("without rests", [pair for pair in pairs if not pair.rests]),
        *((contention.value, [pair for pair in pairs if pair.contention == contention]) for contention in Contention),
    ):
        ratios = [pair.ratio for pair in some]
        quantiles = ", ".join(f"{value:.3f}" for value in np.percentile(ratios, SHARES))
        print(f"{label}: {len(some)} cases; ratio at {SHARES} %: {quantiles}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
