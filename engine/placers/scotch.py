"""Scotch: maps the groups onto the devices by recursive bipartitioning, with the Scotch library itself.

Source: Pellegrini, Roman: Scotch: a software package for static mapping by dual recursive bipartitioning of process and
architecture graphs, HPCN 1996; the baseline of Addanki et al. 2019 and of Mirhoseini et al. 2017. The library: version
7 through its own Python interface, scotchpy.

A vertex is a group, its load the time on its fastest device; an edge's load is the bytes that flow both ways; the
devices are a complete graph of processors weighted by their speed; groups with one possible device are fixed vertices.

Deviations: all links count alike; a group that may go to several but not to all devices is mapped freely and then
moved, if need be, to the possible device that exchanges most bytes with it; memory does not count, since the library
has no notion of it.

The library runs in a child process: it is native code with one global random generator. The child has an empty
environment, so that no setting of threads or MPI reaches it; it runs the sequential library.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits, run_in_child
from engine.events import Json, ShouldStop
from engine.placers.scotch_library import FREE
from engine.placers.weighted_groups import WeightedGraph, weighted_graph
from engine.problem import PlacementProblem
from engine.problem.trivial import kept_apart
from engine.settings.fields import number, require_allowed, whole

SPEED_UNITS = 1000
"""weight of the fastest device"""
LIMITS = Limits(memory_bytes=16 * 1024**3, seconds=600.0)
LEAST_SECONDS = 5.0
"""of wall time for the child process, which takes a second or two to begin, where the budget has fewer left"""
MOST_SEED = 2**31


WIDER = 5.0
"""factor from one tolerance to the next"""


@dataclass(frozen=True, slots=True)
class Scotch:
    """Makes a mapping for each tolerance and evaluates those that differ."""

    imbalance: float = number(
        0.01,
        1e-9,
        1.0,
        "share by which a device's load may differ from its fair part in the first mapping (the library's own default)",
    )
    mappings: int = whole(
        3, 1, 16, "mappings, each evaluated, with five times the tolerance from one to the next, at most 1 (ours)"
    )

    def __post_init__(self) -> None:
        require_allowed(self, "scotch")

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        graph = weighted_graph(problem)
        seen: list[NDArray[np.int32]] = []
        for mapped in self._mapped(graph, problem, int(rng.integers(MOST_SEED))):
            placement = kept_apart(problem, _moved_where_allowed(mapped, problem.allowed, graph)[None, :])[0]
            if any(np.array_equal(placement, earlier) for earlier in seen):
                continue
            if seen and (problem.ledger.spent or should_stop()):
                return
            problem.evaluate_episodes(placement[np.newaxis])
            seen.append(placement)

    def imbalances(self) -> list[float]:
        """The tolerance of each mapping."""
        return [min(1.0, self.imbalance * WIDER**mapping) for mapping in range(self.mappings)]

    def _mapped(self, graph: WeightedGraph, problem: PlacementProblem, seed: int) -> NDArray[np.int64]:
        """[mappings, groups] the library's mappings; it is not run if each group has one possible device."""
        fixed = np.where(problem.allowed.sum(axis=1) == 1, np.argmax(problem.allowed, axis=1), FREE)
        if problem.device_count == 1 or (fixed != FREE).all():
            return np.where(fixed == FREE, 0, fixed)[np.newaxis]
        arguments: dict[str, Json] = {
            "vertex_load": graph.vertex_load.tolist(),
            "first_neighbour": graph.first_neighbour.tolist(),
            "neighbour": graph.neighbour.tolist(),
            "edge_load": graph.edge_load.tolist(),
            "processor_weight": processor_weights(problem).tolist(),
            "fixed": fixed.tolist(),
            "imbalances": list(self.imbalances()),
            "seed": seed,
        }
        left = problem.ledger.seconds_left
        seconds = LIMITS.seconds if left is None else min(LIMITS.seconds, max(left, LEAST_SECONDS))
        limits = dataclasses.replace(LIMITS, seconds=seconds)
        arrays, _ = run_in_child(
            "engine.placers.scotch_library:map_in_child", arguments, limits, task="Scotch's mapping"
        )
        return arrays["processor"].astype(np.int64)


def processor_weights(problem: PlacementProblem) -> NDArray[np.int64]:
    """[devices] speeds, `SPEED_UNITS` for the fastest, from the total time of the ops that every device can run."""
    times = problem.op_time_us
    everywhere = ~np.isnan(times).any(axis=0)
    total_us = times[:, everywhere].sum(axis=1)
    if not total_us.all():
        return np.full(len(total_us), SPEED_UNITS)
    return np.asarray(np.maximum(1, np.rint(SPEED_UNITS * total_us.min() / total_us)), dtype=np.int64)


def _moved_where_allowed(
    mapped: NDArray[np.int64], allowed: NDArray[np.bool_], graph: WeightedGraph
) -> NDArray[np.int32]:
    """[groups] `mapped`, but groups that may not be there move to the allowed device with most of their bytes."""
    placement = mapped.copy()
    for group in np.flatnonzero(~allowed[np.arange(len(mapped)), mapped]).tolist():
        held = graph.load_by_device(group, placement, allowed.shape[1])
        placement[group] = int(np.argmax(np.where(allowed[group], held, -1.0)))
    return placement.astype(np.int32)
