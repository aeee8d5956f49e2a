"""Whole loops on devices of their own: a start for graphs with several loops, such as the two directions of a layer.

A loop's ops are many units, and moving one of them alone pays a transfer a trip. So each of the loops that take most
time is moved as a whole, the heaviest first, from the fastest single device to the device where the step is shortest.
"""

import numpy as np

from engine.graphs.loop_order import outermost_loops
from engine.problem import PlacementProblem
from engine.problem.trivial import all_on, best_one_device

MOST_LOOPS = 16
"""loops that are moved, the heaviest"""


def evaluate_whole_loops(problem: PlacementProblem) -> None:
    """Evaluate placements that differ from the best single device by whole loops; none for fewer than two loops."""
    if not len(problem.graph.back_edges) or problem.device_count < 2:
        return
    loop_of_op = outermost_loops(problem.graph)
    if loop_of_op.max() < 1:
        return
    inside = loop_of_op >= 0
    time_us = np.bincount(loop_of_op[inside], np.nan_to_num(problem.op_time_us).max(axis=0)[inside])
    placement = all_on(problem.allowed, best_one_device(problem))
    for loop in np.argsort(-time_us, kind="stable")[:MOST_LOOPS].tolist():
        units = np.unique(problem.simulator.group_of_op[loop_of_op == loop])
        trials = np.repeat(placement[None, :], problem.device_count, axis=0)
        for device in range(problem.device_count):
            trials[device, units] = np.where(problem.allowed[units, device], device, placement[units])
        trials = trials[: problem.ledger.remaining]
        if not len(trials):
            return
        evaluations = problem.evaluate_episodes(trials)
        missing = problem.missing_bytes(evaluations)
        placement = trials[int(np.lexsort((evaluations.step_time_us, missing))[0])]
