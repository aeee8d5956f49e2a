"""The stages of replicas in a plan's JSON: modules along the model, or why there are none."""

import numpy as np

from engine.plans.plan import Plan, Replica
from engine.plans.staged import replicas_to_json
from tests.engine.formats.modules.recorded_chain import recorded_chain

CHAIN = recorded_chain(2)
ORDER = ["embed", "layers.0.attn", "layers.0.mlp", "layers.1.attn", "layers.1.mlp", "head"]


def replica(devices: tuple[int, ...], stage_of_unit: list[int]) -> Replica:
    of_unit = dict(zip(ORDER, stage_of_unit, strict=True))
    labels = [name.replace("/", ".") for name in CHAIN.graph.op_names]
    placement = np.zeros(CHAIN.grouping.group_count, np.int32)
    for group, label in zip(CHAIN.grouping.group_of_op.tolist(), labels, strict=True):
        placement[group] = next((stage for unit, stage in of_unit.items() if label.startswith(f"{unit}.")), 0)
    return Replica(devices, placement, 2, 3)


def test_stages_name_the_cluster_s_devices_and_their_modules() -> None:
    plan = Plan((replica((3, 1), [0, 0, 0, 1, 1, 1]), replica((2,), [0] * 6)))
    first, second = replicas_to_json(CHAIN, plan)
    assert isinstance(first, dict) and isinstance(second, dict)
    assert first["stages"] == [
        {"device": 3, "modules": ["embed", "layers.0"]},
        {"device": 1, "modules": ["layers.1", "head"]},
    ]
    assert first["no_stages"] is None and second["stages"] == [{"device": 2, "modules": [""]}]


def test_a_placement_that_returns_has_a_reason_in_their_place() -> None:
    [found] = replicas_to_json(CHAIN, Plan((replica((0, 1), [0, 1, 1, 0, 0, 0]),)))
    assert isinstance(found, dict) and found["stages"] is None
    assert str(found["no_stages"]).startswith("module layers.1: the placement is no chain of stages")
