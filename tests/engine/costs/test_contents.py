"""What loops put into stacks, arrays and lists: how much, until when, and that no transfer of a handle counts it."""

from collections.abc import Mapping

import numpy as np
import pytest

from engine import api
from engine.child.parent import Limits, run_in_child
from engine.clusters.cluster import Cluster
from engine.prepared import PreparedGraph
from engine.simulator import Simulator
from engine.simulator.timeline import Held, Timeline
from tests.engine.costs.loop_sizes import ELEMENT, INNER, TRIPS
from tests.engine.simulator.cases import cluster_of

pytestmark = pytest.mark.slow
LIMITS = Limits()
WANTED = {
    "written-v1": {"TensorArrayV3": TRIPS},
    "written-v2": {},  # TensorListReserve has all bytes itself
    "growing-v1": {"TensorArrayV3": TRIPS},
    "growing-v2": {"Merge": TRIPS},
    "read-v1": {"TensorArrayV3": TRIPS},
    "read-v2": {},  # so has TensorListFromTensor
    "trained-v1": {"StackV2": TRIPS},  # of the states before and after a product, which are one; no weights
    "trained-v2": {"Merge": TRIPS},  # where the loop begins to fill an empty list
    "gated-v1": {"StackV2": 3 * TRIPS},  # state, gate, candidate
    "gated-v2": {"Merge": 3 * TRIPS},
    "nested-v1": {"StackV2": TRIPS * INNER},
    "nested-v2": {"Merge": TRIPS * INNER},
}
"""graph → op type → elements that ops of this type hold"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, PreparedGraph]:
    folder = tmp_path_factory.mktemp("loops")
    run_in_child("tests.engine.costs.loop_containers:write_in_child", {"folder": str(folder)}, LIMITS, is_warm=True)
    return {name: api.prepare(folder / f"{name}.pb", ".pb", lambda *_: None, LIMITS, groups=8) for name in WANTED}


def elements_by_type(read: PreparedGraph) -> dict[str, float]:
    """Op type → the elements in the containers that ops of this type make."""
    found: dict[str, float] = {}
    owner = np.repeat(np.arange(read.graph.op_count), np.diff(read.costs.output_offset))
    for output in np.flatnonzero(read.costs.contents_bytes >= ELEMENT).tolist():
        op_type = read.graph.op_types[owner[output]]
        found[op_type] = found.get(op_type, 0) + int(read.costs.contents_bytes[output]) / ELEMENT
    return found


@pytest.mark.parametrize("name", WANTED)
def test_a_container_holds_what_each_trip_puts_in(prepared: Mapping[str, PreparedGraph], name: str) -> None:
    assert elements_by_type(prepared[name]) == WANTED[name]


def step(read: PreparedGraph, cluster: Cluster, devices: list[int]) -> Timeline:
    simulator = Simulator(read.graph, read.costs, cluster)
    placement = np.array(devices, dtype=np.int32)
    timeline = simulator.timeline(placement)
    assert simulator.evaluate(placement[None]).peak_bytes[0].tolist() == timeline.peak_bytes.tolist()
    return timeline


@pytest.mark.parametrize("name", ["trained-v1", "trained-v2", "gated-v1", "gated-v2", "nested-v1", "nested-v2"])
def test_contents_stay_until_the_gradient_has_taken_them(prepared: Mapping[str, PreparedGraph], name: str) -> None:
    read = prepared[name]
    timeline = step(read, cluster_of(1), [0] * read.graph.op_count)
    names = np.array(read.graph.op_names)
    holdings = timeline.holdings
    large = np.flatnonzero((holdings.held == Held.OUTPUT) & (holdings.bytes >= TRIPS * ELEMENT))
    assert large.size
    forward_end_us = max(
        timeline.end_us[op] for op, each in enumerate(names) if read.graph.op_types[op] == "Tanh" and "grad" not in each
    )
    assert (holdings.start_us[large] < forward_end_us).all()
    assert (holdings.end_us[large] > forward_end_us).all()
    elements = sum(WANTED[name].values())
    assert elements * ELEMENT <= timeline.peak_bytes[0] <= (elements + 8) * ELEMENT


def test_an_array_stays_until_it_is_read(prepared: Mapping[str, PreparedGraph]) -> None:
    """The array, the tensor that stacks it, the fed element, and constants beside them."""
    for name in ("written-v1", "written-v2"):
        read = prepared[name]
        peak = step(read, cluster_of(1), [0] * read.graph.op_count).peak_bytes[0]
        assert (2 * TRIPS + 1) * ELEMENT <= peak < (2 * TRIPS + 1) * ELEMENT + 1000


def test_only_handles_and_values_cross(prepared: Mapping[str, PreparedGraph]) -> None:
    """All that may be is on the other device than the containers: what crosses is an element a trip at most."""
    for name in ("written-v1", "read-v1", "trained-v1", "gated-v1"):
        read = prepared[name]
        tied = {op for op, op_type in enumerate(read.graph.op_types) if "Array" in op_type or "Stack" in op_type}
        tied |= {op for op, op_type in enumerate(read.graph.op_types) if op_type == "Enter" and is_of(read, op, tied)}
        timeline = step(read, cluster_of(2), [int(op in tied) for op in range(read.graph.op_count)])
        crossing = timeline.transfers.bytes[[int(op) in tied for op in timeline.transfers.op]]
        assert crossing.size
        assert crossing.max() <= TRIPS * ELEMENT  # what stacks an array
        assert timeline.peak_bytes[1] >= TRIPS * ELEMENT


def test_a_list_is_where_its_loop_is(prepared: Mapping[str, PreparedGraph]) -> None:
    """An empty list that another device makes does not take the elements there."""
    for name in ("trained-v2", "gated-v2", "nested-v2"):
        read = prepared[name]
        devices = [int(op_type == "EmptyTensorList") for op_type in read.graph.op_types]
        assert sum(devices)
        here, there = step(read, cluster_of(2), devices).peak_bytes.tolist()
        assert here >= sum(WANTED[name].values()) * ELEMENT
        assert there < ELEMENT


def is_of(read: PreparedGraph, op: int, tied: set[int]) -> bool:
    """Whether an Enter takes the handle of a container."""
    sources = read.graph.edge_source[read.graph.edge_target == op]
    return any(
        int(source) in tied and read.graph.op_types[source] in ("TensorArrayV3", "StackV2") for source in sources
    )
