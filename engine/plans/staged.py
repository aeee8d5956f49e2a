"""The stages of a plan's replicas along the model: what a process for each carries out."""

import numpy as np

from engine.errors import GraphError, PlacementError
from engine.events import Json
from engine.formats.modules.paths import path_of
from engine.formats.modules.stages import Stage, stages_of
from engine.plans.plan import Plan, Replica
from engine.prepared import PreparedGraph

TURNS = "several devices take its stages in turn"


def replicas_to_json(prepared: PreparedGraph, plan: Plan) -> list[Json]:
    """[replicas] the rows of a plan's JSON, with `stages`, or with `no_stages`: why the model has none there."""
    found: dict[tuple[object, ...], list[Stage] | str] = {}
    rows: list[Json] = []
    for replica in plan.replicas:
        key = replica.placement.tobytes(), replica.turns
        if key not in found:
            found[key] = _stages_or_reason(prepared, replica)
        rows.append(replica.to_json() | _to_json(found[key], replica))
    return rows


def _stages_or_reason(prepared: PreparedGraph, replica: Replica) -> list[Stage] | str:
    if replica.turns:
        return TURNS
    try:
        return stages_of(prepared, replica.placement[prepared.grouping.group_of_op])
    except (GraphError, PlacementError) as error:
        return str(error)


def _to_json(found: list[Stage] | str, replica: Replica) -> dict[str, Json]:
    if isinstance(found, str):
        return {"stages": None, "no_stages": found}
    devices = np.array(replica.devices)
    stages: list[Json] = [
        {"device": int(devices[stage.device]), "modules": [path_of(path) for path in stage.modules]} for stage in found
    ]
    return {"stages": stages, "no_stages": None}
