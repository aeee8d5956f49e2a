"""Whole loops on devices of their own: a start for graphs with several loops, such as the two directions of a layer.

A loop's ops are many units, and moving one of them alone pays a transfer a trip. So each of the loops that take most
time is moved as a whole, the heaviest first, from the fastest single device to the device where the step is shortest.
"""

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.graphs.loop_order import outermost_loops
from engine.placers.quick_starts import seconds_for_starts
from engine.problem import PlacementProblem
from engine.problem.trivial import all_on, best_one_device, kept_apart
from engine.search.symmetry import interchangeable_devices

MOST_LOOPS = 16
"""loops that are moved, the heaviest"""


def evaluate_whole_loops(problem: PlacementProblem, should_stop: ShouldStop) -> None:
    """Evaluate placements that differ from the best single device by whole loops; none for fewer than two loops.

    It ends early where the budget, its seconds for starts or `should_stop` says so.
    """
    if not len(problem.graph.back_edges) or problem.device_count < 2:
        return
    loop_of_op = outermost_loops(problem.graph)
    if loop_of_op.max() < 1:
        return
    class_of_device = interchangeable_devices(problem)
    placement = all_on(problem.allowed, best_one_device(problem))
    for loop in _heaviest_first(problem, loop_of_op):
        seconds = seconds_for_starts(problem)
        if problem.ledger.spent or should_stop() or (seconds is not None and seconds <= 0):
            return
        units = np.unique(problem.simulator.group_of_op[loop_of_op == loop])
        trials = np.stack(
            [_moved(problem, placement, units, device) for device in _unlike_devices(placement, class_of_device)]
        )[: problem.ledger.remaining]
        trials = kept_apart(problem, trials)
        evaluations = problem.evaluate_episodes(trials)
        missing = problem.missing_bytes(evaluations)
        placement = trials[int(np.lexsort((evaluations.step_time_us, missing))[0])]


def _heaviest_first(problem: PlacementProblem, loop_of_op: NDArray[np.int64]) -> list[int]:
    """The loops that take most time in a step, each op on its slowest device; `loop_of_op` [ops], -1 outside loops."""
    inside = loop_of_op >= 0
    time_us = np.bincount(loop_of_op[inside], np.nan_to_num(problem.op_time_us).max(axis=0)[inside])
    heaviest: list[int] = np.argsort(-time_us, kind="stable")[:MOST_LOOPS].tolist()
    return heaviest


def _unlike_devices(placement: NDArray[np.int32], class_of_device: NDArray[np.int32]) -> list[int]:
    """The devices that `placement` [units] uses, and the first other one of each class [devices] of alike devices."""
    used = np.unique(placement)
    others = np.setdiff1d(np.arange(len(class_of_device)), used)
    _, first = np.unique(class_of_device[others], return_index=True)
    return sorted([*used.tolist(), *others[first].tolist()])


def _moved(
    problem: PlacementProblem, placement: NDArray[np.int32], units: NDArray[np.int32], device: int
) -> NDArray[np.int32]:
    """[units] `placement` with those of `units` on `device` that may be there."""
    moved = placement.copy()
    moved[units] = np.where(problem.allowed[units, device], device, placement[units])
    return moved
