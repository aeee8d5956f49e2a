"""Scotch: static mapping of the groups onto the devices by recursive bipartitioning, with the Scotch library itself.

Source: Pellegrini, Roman: Scotch: a software package for static mapping by dual recursive bipartitioning of process and
architecture graphs, HPCN 1996; the baseline of Addanki et al. 2019 and of Mirhoseini et al. 2017. The library: version
7 through its own Python interface, scotchpy.

A vertex is a group, its load the time on its fastest device; an edge's load is the bytes that flow both ways; the
devices are a complete graph of processors weighted by their speed; groups with one possible device are fixed vertices.

Deviations: all links count alike; a group that may go to several but not to all devices is mapped freely and then
moved, where it must be, to the possible device from which and to which most of its bytes flow. Memory does not enter:
the library knows none.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits, run_in_child
from engine.events import EmitFromPlacer, Json, ShouldStop
from engine.list_scheduling.group_graph import WeightedGraph, weighted_graph
from engine.placers.episodes import evaluate_as_episodes
from engine.placers.placer import Placement
from engine.placers.scotch_library import FREE
from engine.problem import Budget, PlacementProblem
from engine.settings.ranges import require_ranges

SPEED_UNITS = 1000
"""weight of the fastest device"""
LIMITS = Limits(memory_bytes=16 * 1024**3, seconds=600.0)
MOST_SEED = 2**31


@dataclass(frozen=True, slots=True)
class Scotch:
    """One mapping, evaluated once."""

    imbalance: float = 0.01
    """share by which the load of a device may be off its part (the library's own default)"""

    def __post_init__(self) -> None:
        require_ranges(self, {}, {"imbalance": (1e-9, 1.0)}, "scotch")

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        graph = weighted_graph(problem)
        mapped = self._mapped(graph, problem, int(rng.integers(MOST_SEED)))
        placement = _moved_where_allowed(mapped, problem.allowed, graph)
        return evaluate_as_episodes(problem, placement[np.newaxis], emit, first_episode=1)

    def _mapped(self, graph: WeightedGraph, problem: PlacementProblem, seed: int) -> NDArray[np.int64]:
        """[groups] as the library has it. With one device, or one group, there is nothing to map."""
        fixed = np.where(problem.allowed.sum(axis=1) == 1, np.argmax(problem.allowed, axis=1), FREE)
        if problem.device_count == 1 or (fixed != FREE).all():
            return np.where(fixed == FREE, 0, fixed)
        arguments: dict[str, Json] = {
            "vertex_load": graph.vertex_load.tolist(),
            "first_neighbour": graph.first_neighbour.tolist(),
            "neighbour": graph.neighbour.tolist(),
            "edge_load": graph.edge_load.tolist(),
            "processor_weight": processor_weights(problem).tolist(),
            "fixed": fixed.tolist(),
            "imbalance": self.imbalance,
            "seed": seed,
        }
        arrays, _ = run_in_child(
            "engine.placers.scotch_library:map_in_child", arguments, LIMITS, task="Scotch's mapping"
        )
        return arrays["processor"].astype(np.int64)


def processor_weights(problem: PlacementProblem) -> NDArray[np.int64]:
    """[devices] speed, the fastest at `SPEED_UNITS`: by the time of all ops that every device can run."""
    times = problem.op_time_us
    everywhere = ~np.isnan(times).any(axis=0)
    total_us = times[:, everywhere].sum(axis=1)
    if not total_us.all():
        return np.full(len(total_us), SPEED_UNITS)
    return np.asarray(np.maximum(1, np.rint(SPEED_UNITS * total_us.min() / total_us)), dtype=np.int64)


def _moved_where_allowed(
    mapped: NDArray[np.int64], allowed: NDArray[np.bool_], graph: WeightedGraph
) -> NDArray[np.int32]:
    """[groups] `mapped`, but for groups that may not be there: to the possible device with most of their bytes."""
    placement = mapped.copy()
    for group in np.flatnonzero(~allowed[np.arange(len(mapped)), mapped]).tolist():
        held = graph.load_by_device(group, placement, allowed.shape[1])
        placement[group] = int(np.argmax(np.where(allowed[group], held, -1.0)))
    return placement.astype(np.int32)
