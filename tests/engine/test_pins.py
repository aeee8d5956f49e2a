"""Where groups may go: fixed devices and missing kinds."""

import dataclasses

import numpy as np
import pytest

from engine.errors import GraphError
from engine.pins import allowed_devices

from .placers.small_problems import one_group_an_op, small_cluster, small_graph

GRAPH, COSTS = small_graph(np.random.default_rng(0), 4)
GROUPING = one_group_an_op(GRAPH, COSTS)
CLUSTER = small_cluster(2, cpu=True)


def fixed(*devices: str) -> np.ndarray:
    graph = dataclasses.replace(GRAPH, devices=devices)
    return allowed_devices(graph, COSTS, GROUPING, CLUSTER)


def test_without_pins_every_group_may_go_anywhere() -> None:
    assert allowed_devices(GRAPH, COSTS, GROUPING, CLUSTER).all()


def test_a_fixed_device_is_kept_however_it_is_spelled() -> None:
    allowed = fixed("/gpu:1", "/job:worker/task:0/device:GPU:0", "/device:CPU:*", "")
    expected = [[False, True, False], [True, False, False], [False, False, True], [True, True, True]]
    assert allowed.tolist() == expected


def test_a_device_that_the_cluster_has_not_is_named() -> None:
    with pytest.raises(GraphError) as caught:
        fixed("", "/device:GPU:7", "", "")
    assert str(caught.value) == (
        "scope/op_1: it is fixed to /device:GPU:7, which the cluster has not; "
        "allowed: /device:GPU:0 (GPU), /device:GPU:1 (GPU), /device:CPU:0 (CPU)"
    )


def test_pins_can_be_dropped() -> None:
    graph = dataclasses.replace(GRAPH, devices=("", "/device:GPU:7", "", ""))
    assert allowed_devices(graph, COSTS, GROUPING, CLUSTER, drop_pins=True).all()


def test_a_kind_without_a_time_is_not_allowed() -> None:
    time_us = COSTS.time_us.copy()
    time_us[0, 2] = np.nan
    costs = dataclasses.replace(COSTS, time_us=time_us)
    assert allowed_devices(GRAPH, costs, GROUPING, CLUSTER)[2].tolist() == [False, False, True]


def test_a_group_with_nowhere_to_go_is_named() -> None:
    time_us = COSTS.time_us.copy()
    time_us[:, 2] = np.nan
    with pytest.raises(GraphError, match="scope/op_2: no device of the cluster can run it"):
        allowed_devices(GRAPH, dataclasses.replace(COSTS, time_us=time_us), GROUPING, CLUSTER)


def test_a_group_moves_only_where_all_its_ops_may() -> None:
    together = dataclasses.replace(GROUPING, group_of_op=np.array([0, 0, 1, 2], np.int32))
    graph = dataclasses.replace(GRAPH, devices=("", "/gpu:1", "", ""))
    assert allowed_devices(graph, COSTS, together, CLUSTER)[0].tolist() == [False, True, False]
