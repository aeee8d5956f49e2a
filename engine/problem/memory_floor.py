"""Bytes that every placement needs: what can be refused before a search, with the ops that need them.

Three floors, none of which any placement goes below:

- a unit, ops that share a device in every placement, holds its variables, constants and fed inputs, and the most that
  one of its ops needs while it runs: its inputs, its outputs, its temporaries; that must fit one of the devices where
  the unit may be;
- in a stream with contiguous stages the same holds for groups that no stages can part;
- the variables, constants and fed inputs of all ops together must fit all devices together.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, MemoryModel
from engine.errors import InfeasibleError, shortened
from engine.graphs.colocation import colocation_classes
from engine.number_words import bytes_words
from engine.problem.inseparable import inseparable_groups
from engine.problem.problem import PlacementProblem
from engine.simulator.bound import bytes_on_one_device
from engine.simulator.streams.stream import is_contiguous

OPS_NAMED = 3


def require_room(problem: PlacementProblem, *, units_are_groups: bool) -> None:
    """Raise InfeasibleError where no placement can fit in memory, by these floors.

    `units_are_groups`: whether a person fixed the groups, so that other groups could be smaller.
    """
    _require_room_for_what_stays(problem)
    _require_room_for_units(
        problem,
        np.arange(problem.group_count),
        "that share a device",
        lambda ops, room: _advice(problem, ops, room, units_are_groups=units_are_groups),
    )
    if is_contiguous(problem.stream):
        _require_room_for_units(
            problem, inseparable_groups(problem), "that no contiguous stages can part", _advice_for_stages
        )


def _require_room_for_units(
    problem: PlacementProblem,
    unit_of_group: NDArray[np.integer],
    why: str,
    advice: Callable[[NDArray[np.int64], int], str],
) -> None:
    """Raise InfeasibleError where a unit fits no device; `advice` gets its ops and the room of the best device."""
    unit_of_op = unit_of_group[problem.simulator.group_of_op].astype(np.int32)
    needed = _least_bytes(problem, unit_of_op)
    allowed = np.ones((len(needed), problem.device_count), dtype=bool)
    np.logical_and.at(allowed, unit_of_group, problem.allowed)
    room = np.where(allowed, problem.memory_bytes, 0).max(axis=1)
    missing = needed - room
    worst = int(missing.argmax())
    if missing[worst] <= 0:
        return
    ops = np.flatnonzero(unit_of_op == worst)
    raise InfeasibleError(
        f"{_ops_words(problem, ops, why)} at least {bytes_words(int(needed[worst]))}, more than the "
        f"{bytes_words(int(room[worst]))} of any device where {'they' if len(ops) > 1 else 'it'} may be",
        advice=advice(ops, int(room[worst])),
    )


def _advice_for_stages(_ops: NDArray[np.int64], _room: int) -> str:
    return "use a larger device or a smaller micro-batch, or do without contiguous stages"


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


def _ops_words(problem: PlacementProblem, ops: NDArray[np.int64], why: str) -> str:
    """The subject of the sentence, the ops with the most bytes named first."""
    costs = problem.simulator.executed_costs
    heaviest = ops[np.argsort(-(costs.kept_bytes() + costs.new_bytes_of_op())[ops], kind="stable")]
    names = ", ".join(shortened(problem.graph.op_names[op]) for op in heaviest[:OPS_NAMED].tolist())
    if len(ops) == 1:
        return f"{names} needs"
    return f"{len(ops):,} ops {why} ({names}{', …' if len(ops) > OPS_NAMED else ''}) need"


def _advice(problem: PlacementProblem, ops: NDArray[np.int64], room: int, *, units_are_groups: bool) -> str:
    class_of_op = colocation_classes(problem.graph)
    if units_are_groups and _least_bytes(problem, class_of_op)[class_of_op[ops]].max() <= room:
        return "read the graph with groups auto or all, which have smaller groups, or use a larger device"
    if problem.simulator.executed_costs.persistent_bytes[ops].sum() > room:
        return "use a larger device"
    return "use a larger device, or a smaller batch"
