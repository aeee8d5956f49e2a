"""A session answers as the simulator does: of placements by group and by op, of moves, in bytes for a browser."""

import dataclasses

import numpy as np
import pytest

from engine.clusters.cluster import Cluster
from engine.clusters.parsing import parse_cluster
from engine.errors import PlacementError
from engine.explaining.sent import explanation_to_bytes
from engine.explaining.session import Session
from engine.files.tensor_file import unpack_tensors
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.grouping.nesting import SPLIT
from engine.prepared import PreparedGraph
from engine.simulator import Simulator
from tests.engine.explaining.sessions import drawn, session_of
from tests.engine.graphs.graph_samples import make_costs, make_graph

MOVES = 1000


def test_gains_are_what_a_simulation_of_each_move_says() -> None:
    """Of 1,000 drawn moves, on graphs and clusters of all kinds, to the bit."""
    rng, checked = np.random.default_rng(5), 0
    for seed, shorthand in enumerate(("4xK80+cpu", "2xV100+3xK80+cpu", "8xK80", "2xK80+cpu")):
        session = session_of(seed, shorthand)
        placement = drawn(session, rng)
        gains = session.gains(session.by_group(placement))
        for _ in range(MOVES // 4):
            group, device = rng.integers(len(placement)), rng.integers(session.cluster.device_count)
            if not session.allowed[group, device]:
                assert np.isnan(gains.step_time_us[group, device]) and gains.missing_bytes[group, device] == -1
                continue
            moved = placement.copy()
            moved[group] = device
            outcome = session.evaluate(session.by_group(moved))
            assert gains.step_time_us[group, device] == outcome.step_time_us
            assert gains.missing_bytes[group, device] == outcome.missing_bytes
            checked += 1
    assert checked > 0.7 * MOVES


def test_gains_of_some_groups_are_those_of_all() -> None:
    session = session_of(1)
    placement = session.by_group(drawn(session, np.random.default_rng(0)))
    some, every = session.gains(placement, [5, 3]), session.gains(placement)
    assert some.groups.tolist() == [5, 3]
    assert np.array_equal(some.step_time_us, every.step_time_us[[5, 3]], equal_nan=True)
    assert len(session.gains(placement, []).groups) == 0
    with pytest.raises(PlacementError, match="no such group; allowed: 0 to"):
        session.gains(placement, [10_000])


def test_joint_gains_are_what_a_simulation_of_all_moves_at_once_says() -> None:
    """Of drawn selections of groups, to the bit; they may go where each of them may."""
    rng, checked = np.random.default_rng(9), 0
    for seed, shorthand in enumerate(("4xK80+cpu", "8xK80")):
        session = session_of(seed, shorthand)
        placement = drawn(session, rng)
        for size in (1, 2, 7, len(placement)):
            groups = rng.permutation(len(placement))[:size]
            gains = session.joint_gains(session.by_group(placement), groups.tolist())
            assert gains.step_time_us.shape == (1, session.cluster.device_count)
            for device in range(session.cluster.device_count):
                if not session.allowed[groups, device].all():
                    assert np.isnan(gains.step_time_us[0, device]) and gains.missing_bytes[0, device] == -1
                    continue
                moved = placement.copy()
                moved[groups] = device
                outcome = session.evaluate(session.by_group(moved))
                assert gains.step_time_us[0, device] == outcome.step_time_us
                assert gains.missing_bytes[0, device] == outcome.missing_bytes
                checked += 1
    assert checked > 20
    with pytest.raises(PlacementError, match="no group; allowed: one or more"):
        session.joint_gains(session.by_group(placement), [])


def test_joint_gains_move_split_groups_as_a_whole() -> None:
    session = session_of(2)
    by_group = session.by_group(drawn(session, np.random.default_rng(1)))
    group_of_op = session.prepared.grouping.group_of_op
    group = int(np.argmax(np.bincount(group_of_op)))
    device_of_op = by_group.device_of_op.copy()
    op = int(np.flatnonzero(group_of_op == group)[0])
    device_of_op[op] = (device_of_op[op] + 1) % 4
    other = (group + 1) % len(by_group.device_of_group)
    gains = session.joint_gains(session.by_op(device_of_op), [group, other])
    whole = by_group.device_of_group.copy()
    whole[[group, other]] = 1
    assert gains.step_time_us[0, 1] == session.evaluate(session.by_group(whole)).step_time_us


def test_a_placement_by_op_is_by_group_unless_a_group_is_split() -> None:
    session = session_of(2)
    by_group = session.by_group(drawn(session, np.random.default_rng(1)))
    assert not by_group.is_split
    same = session.by_op(by_group.device_of_op)
    assert np.array_equal(same.device_of_group, by_group.device_of_group)

    device_of_op = by_group.device_of_op.copy()
    group_of_op = session.prepared.grouping.group_of_op
    group = int(np.argmax(np.bincount(group_of_op)))
    op = int(np.flatnonzero(group_of_op == group)[0])
    device_of_op[op] = (device_of_op[op] + 1) % 4
    split = session.by_op(device_of_op)
    assert split.is_split and split.device_of_group[group] == SPLIT
    assert (split.device_of_group == SPLIT).sum() == 1
    by_op = Simulator(session.prepared.graph, session.prepared.costs, session.cluster)
    assert session.evaluate(split).step_time_us == by_op.evaluate(device_of_op[None, :]).step_time_us[0]
    assert session.explain(split).timeline.device_of_op[op] == device_of_op[op]

    gains = session.gains(split, [group])
    for device in range(session.cluster.device_count):
        whole = by_group.device_of_group.copy()
        whole[group] = device
        if session.allowed[group, device]:
            assert gains.step_time_us[0, device] == session.evaluate(session.by_group(whole)).step_time_us


@pytest.mark.parametrize(
    ("placement", "sentence"),
    [
        ([0], "1 devices; allowed: 24 integers"),
        ([[0] * 24], "24 devices; allowed: 24 integers"),
        ([0.5] * 24, "24 devices; allowed: 24 integers"),
        ([0] * 23 + [9], "device 9 is not in the cluster; allowed: 0 to 4"),
        ([0] * 23 + [-1], "device -1 is not in the cluster; allowed: 0 to 4"),
    ],
)
def test_what_is_no_placement_is_refused(placement: list[int], sentence: str) -> None:
    session = session_of(3)
    with pytest.raises(PlacementError, match=sentence):
        session.by_group(placement)


def small_memory(cluster: Cluster, memory_bytes: int) -> Cluster:
    devices = tuple(dataclasses.replace(device, memory_bytes=memory_bytes) for device in cluster.devices)
    return dataclasses.replace(cluster, devices=devices)


def test_what_lacks_memory_says_how_much() -> None:
    roomy = session_of(4)
    placement = drawn(roomy, np.random.default_rng(2))
    outcome = roomy.evaluate(roomy.by_group(placement))
    assert outcome.feasible and outcome.missing_bytes == 0
    least = int(outcome.peak_bytes.max()) - 1
    session = Session(roomy.prepared, small_memory(roomy.cluster, least))
    tight = session.evaluate(session.by_group(placement))
    assert (tight.feasible, tight.missing_bytes) == (False, 1)
    assert tight.step_time_us == outcome.step_time_us


def test_the_bytes_for_a_browser_hold_the_whole_explanation() -> None:
    session = session_of(6, "2xV100+cpu")
    placement = session.by_group(drawn(session, np.random.default_rng(3)))
    explanation = session.explain(placement)
    arrays, texts = unpack_tensors(explanation_to_bytes(session, explanation), "explanation")
    timeline = explanation.timeline
    assert texts["step_time_us"] == timeline.step_time_us
    bounds = session.lower_bounds
    assert texts["bounds_us"] == {"path": bounds.path_us, "work": bounds.work_us, "memory": bounds.memory_us}
    assert texts["lower_bound_us"] == max(bounds.path_us, bounds.work_us, bounds.memory_us)
    cause_us = texts["cause_us"]
    assert isinstance(cause_us, list)
    assert abs(sum(float(str(us)) for us in cause_us) - timeline.step_time_us) <= 1e-6 * timeline.step_time_us
    assert {array.dtype.str for array in arrays.values()} <= {"<f8", "<i4", "|u1"}, "what JavaScript has"
    assert np.array_equal(arrays["op.start_us"], timeline.start_us)
    assert np.array_equal(arrays["waited_for"], timeline.waited_for)
    assert len(arrays["op.slack_us"]) == session.op_count
    used = sum(int(peak) > 0 for peak in timeline.peak_bytes)
    assert abs(arrays["op.peak_share"].sum() - used) <= 1e-9 * used, "what a device holds at its peak is held by ops"
    peaks, first = texts["peaks"], arrays["peak.first"]
    assert isinstance(peaks, list) and len(peaks) == session.cluster.device_count
    for device, peak in enumerate(peaks):
        assert isinstance(peak, dict)
        assert peak["bytes"] == timeline.peak_bytes[device]
        begin, beyond = arrays["memory.first"][device : device + 2]
        assert arrays["memory.bytes"][begin:beyond].max() == timeline.peak_bytes[device]
        assert first[device + 1] - first[device] == peak["holdings"]


def test_the_boundary_between_devices_is_sent() -> None:
    graph = make_graph(list("abcd"), [("a", "b"), ("b", "c"), ("c", "d")])
    grouping = dataclasses.replace(
        group_ops(graph, make_costs(4), 2), names=("abc", "d"), group_of_op=np.array([0, 0, 0, 1], dtype=np.int32)
    )
    session = Session(PreparedGraph(graph, make_costs(4), grouping), parse_cluster("2xK80"))
    explained = session.explain(session.by_op(np.array([0, 0, 1, 0], dtype=np.int32)))
    arrays, _ = unpack_tensors(explanation_to_bytes(session, explained), "explanation")
    cuts = list(zip(*(arrays[f"cut.{name}"].tolist() for name in ("source", "target")), strict=True))
    assert cuts == [(1, 2), (2, 3)], "inside a group and between two"


def test_a_split_placement_goes_through_its_parts_and_back() -> None:
    session, rng = session_of(6), np.random.default_rng(1)
    device_of_op = session.by_group(drawn(session, rng)).device_of_op.copy()
    moved = rng.integers(0, len(device_of_op), 5)
    device_of_op[moved] = rng.integers(0, session.cluster.device_count, 5)
    given = session.by_op(device_of_op)
    assert given.is_split
    devices, split = session.parts_of(given)
    assert len(split) < len(device_of_op)
    assert np.array_equal(session.by_parts(devices, split).device_of_op, device_of_op)


def test_groups_of_a_split_placement_are_moved_and_the_split_ones_stay() -> None:
    session = session_of(6)
    groups = session.prepared.grouping.group_count
    device_of_op = np.zeros(session.op_count, dtype=np.int32)
    first = np.flatnonzero(session.prepared.grouping.group_of_op == 0)
    device_of_op[first[0]] = 1
    base = session.by_op(device_of_op)
    moved = session.by_group([SPLIT, 2, *[0] * (groups - 2)], base)
    assert np.array_equal(moved.device_of_op[first], device_of_op[first])
    assert moved.device_of_group.tolist() == [SPLIT, 2, *[0] * (groups - 2)]
    with pytest.raises(PlacementError, match="device -1 is not in the cluster"):
        session.by_group([SPLIT] * groups)


def fixed_session(**columns: object) -> Session:
    """Two groups: a with b, c with d."""
    graph = make_graph(list("abcd"), [("a", "b"), ("c", "d")], **columns)  # type: ignore[arg-type]
    grouping = dataclasses.replace(
        group_ops(graph, make_costs(4), None),
        names=("ab", "cd"),
        group_of_op=np.array([0, 0, 1, 1], dtype=np.int32),
        edge_source=np.zeros(0, np.int32),
        edge_target=np.zeros(0, np.int32),
        edge_bytes=np.zeros(0, np.int64),
    )
    return Session(PreparedGraph(graph, make_costs(4), grouping), parse_cluster("2xK80"))


def test_what_a_run_could_make_is_allowed() -> None:
    session = fixed_session(devices={"a": "/gpu:1"})
    session.require_allowed(session.by_group([1, 0]))
    session.require_allowed(session.by_op(np.array([1, 0, 0, 1], dtype=np.int32)))


@pytest.mark.parametrize(
    ("columns", "device_of_op", "message"),
    [
        (
            {"devices": {"a": "/gpu:1"}},
            [0, 0, 1, 1],
            "ab: its group may not go to /device:GPU:0; allowed: /device:GPU:1",
        ),
        ({"devices": {"a": "/gpu:1"}}, [0, 1, 1, 1], "a: it may not go to /device:GPU:0; allowed: /device:GPU:1"),
        ({"colocation": {"b": ["a"]}}, [0, 1, 1, 1], "b: it must share the device of a; allowed: /device:GPU:0"),
    ],
)
def test_what_no_run_could_make_is_refused(columns: dict[str, object], device_of_op: list[int], message: str) -> None:
    session = fixed_session(**columns)
    with pytest.raises(PlacementError) as caught:
        session.require_allowed(session.by_op(np.array(device_of_op, dtype=np.int32)))
    assert str(caught.value) == message


def test_gains_of_one_device_a_group_are_those_of_all_devices() -> None:
    session = session_of(7)
    rng = np.random.default_rng(4)
    one, other = drawn(session, rng), drawn(session, rng)
    moved = np.flatnonzero(one != other)
    every = session.gains(session.by_group(one), moved.tolist())
    back = session.gains(session.by_group(one), moved.tolist(), other[moved].tolist())
    row = np.arange(len(moved))
    assert np.array_equal(back.step_time_us[row, other[moved]], every.step_time_us[row, other[moved]])
    assert np.isnan(back.step_time_us).sum() == back.step_time_us.size - len(moved), "nothing else is simulated"
    with pytest.raises(PlacementError, match="1 devices; allowed: 2, one for each moved group"):
        session.gains(session.by_group(one), [0, 1], [0])
    with pytest.raises(PlacementError, match="no such device; allowed: 0 to 4"):
        session.gains(session.by_group(one), [0], [5])
