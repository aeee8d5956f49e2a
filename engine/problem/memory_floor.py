"""Bytes that every placement needs: what can be refused before a search, with the ops that need them.

Two floors, neither of which any placement goes below:

- a unit, ops that share a device in every placement, holds its variables, constants and fed inputs, and the most that
  one of its ops needs while it runs: its inputs, its outputs, its temporaries; that must fit one of the devices where
  the unit may be;
- the variables, constants and fed inputs of all ops together must fit all devices together.
"""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, MemoryModel
from engine.errors import InfeasibleError, shortened
from engine.graphs.colocation import colocation_classes
from engine.number_words import bytes_words
from engine.problem.problem import PlacementProblem
from engine.simulator.bound import bytes_on_one_device

OPS_NAMED = 3


def require_room(problem: PlacementProblem, *, units_are_groups: bool) -> None:
    """Raise InfeasibleError where no placement can fit in memory, by these floors.

    `units_are_groups`: whether a person fixed the groups, so that other groups could be smaller.
    """
    _require_room_for_what_stays(problem)
    needed = _least_bytes(problem, problem.simulator.group_of_op)
    room = np.where(problem.allowed, problem.memory_bytes, 0).max(axis=1)
    missing = needed - room
    worst = int(missing.argmax())
    if missing[worst] <= 0:
        return
    ops = np.flatnonzero(problem.simulator.group_of_op == worst)
    raise InfeasibleError(
        f"{_ops_words(problem, ops)} at least {bytes_words(int(needed[worst]))}, more than the "
        f"{bytes_words(int(room[worst]))} of any device where {'they' if len(ops) > 1 else 'it'} may be",
        advice=_advice(problem, ops, int(room[worst]), units_are_groups=units_are_groups),
    )


def _require_room_for_what_stays(problem: PlacementProblem) -> None:
    costs = problem.simulator.executed_costs
    room = int(problem.memory_bytes.sum())
    what = "variables" if costs.persistent_bytes.sum() > room else "variables, constants and fed inputs"
    _require_room_for(what, int(costs.kept_bytes().sum()), problem.cluster)


def require_room_for_variables(needed: int, cluster: Cluster) -> None:
    """Raise InfeasibleError where all devices together have no room for variables of `needed` bytes."""
    _require_room_for("variables", needed, cluster)


def _require_room_for(what: str, needed: int, cluster: Cluster) -> None:
    room = int(cluster.usable_bytes.sum())
    if cluster.memory_model == MemoryModel.OUTPUTS or needed <= room:
        return
    largest = max(cluster.devices, key=lambda device: device.usable_bytes)
    enough = f"{-(-needed // largest.usable_bytes):,} × {largest.kind} with {bytes_words(largest.usable_bytes)} each"
    raise InfeasibleError(
        f"the {what} need {bytes_words(needed)}, more than the {bytes_words(room)} of all devices together",
        advice=f"use more or larger devices: at least {enough}, and more for what is computed",
    )


def _least_bytes(problem: PlacementProblem, unit_of_op: NDArray[np.int32]) -> NDArray[np.int64]:
    """[units] the least bytes that each needs on its device; `unit_of_op` [ops]."""
    simulator = problem.simulator
    first_op = np.full(int(unit_of_op.max()) + 1, len(unit_of_op))
    np.minimum.at(first_op, unit_of_op, np.arange(len(unit_of_op)))
    part = first_op[unit_of_op]
    of_parts = bytes_on_one_device(simulator.executed, simulator.executed_costs, problem.cluster, part)
    return np.asarray(of_parts[first_op], dtype=np.int64)


def _ops_words(problem: PlacementProblem, ops: NDArray[np.int64]) -> str:
    """The subject of the sentence, the ops with the most bytes named first."""
    costs = problem.simulator.executed_costs
    heaviest = ops[np.argsort(-(costs.kept_bytes() + costs.new_bytes_of_op())[ops], kind="stable")]
    names = ", ".join(shortened(problem.graph.op_names[op]) for op in heaviest[:OPS_NAMED].tolist())
    if len(ops) == 1:
        return f"{names} needs"
    return f"{len(ops):,} ops that share a device ({names}{', …' if len(ops) > OPS_NAMED else ''}) need"


def _advice(problem: PlacementProblem, ops: NDArray[np.int64], room: int, *, units_are_groups: bool) -> str:
    class_of_op = colocation_classes(problem.graph)
    if units_are_groups and _least_bytes(problem, class_of_op)[class_of_op[ops]].max() <= room:
        return "read the graph with groups auto or all, which have smaller groups, or use a larger device"
    if problem.simulator.executed_costs.persistent_bytes[ops].sum() > room:
        return "use a larger device"
    return "use a larger device, or a smaller batch"
