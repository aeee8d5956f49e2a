"""Tasks written down by hand or at random, and what every plan must hold."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import BUS_CODE, NONE_CODE, SENDER_CODE
from engine.search.tasks import Links, Tasks

ENDLESS = 1e18


def tasks_of(
    time_us: Sequence[Sequence[float]] | NDArray[np.float64],
    edges: Sequence[tuple[int, int, float]],
    *,
    memory_bytes: Sequence[float] | None = None,
    groups: Sequence[int] | None = None,
    contention: int = NONE_CODE,
    rest_us: float = 0.0,
    trips: Sequence[float] | NDArray[np.float64] | None = None,
) -> Tasks:
    """`edges`: producer, consumer, bytes; each its own flow; a byte takes a µs between any two devices. `trips`: how
    often each is sent, in the order of the sorted edges.
    """
    times = np.array(time_us, dtype=np.float64)
    count, devices = times.shape
    flows = sorted(edges)
    producer = np.array([edge[0] for edge in flows], dtype=np.int64)
    consumer = np.array([edge[1] for edge in flows], dtype=np.int64)
    group = np.arange(count) if groups is None else np.array(groups, dtype=np.int64)
    return Tasks(
        group=group,
        time_us=times,
        memory_bytes=np.array(memory_bytes if memory_bytes is not None else [0.0] * (int(group.max()) + 1)),
        input_first=_firsts(consumer, count),
        input_flow=np.argsort(consumer, kind="stable"),
        flow_first=_firsts(producer, count),
        flow_producer=producer,
        flow_bytes=np.array([edge[2] for edge in flows], dtype=np.float64),
        flow_trips=np.ones(len(flows)) if trips is None else np.array(trips, dtype=np.float64),
        consumer_first=np.arange(len(flows) + 1),
        consumer=consumer,
        links=Links(np.ones((devices, devices)), np.zeros((devices, devices)), rest_us, contention),
    )


def random_tasks(
    seed: int, *, count: int = 12, devices: int = 3, equal: bool = False, contention: int = NONE_CODE
) -> Tasks:
    """Integers, so that sums are exact and ties happen. With odd seeds some flows are sent several times."""
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 9, (count, devices)).astype(np.float64)
    if equal:
        times[:] = times[:, :1]
    pairs = np.argwhere(np.triu(rng.random((count, count)) < 0.3, k=1))
    edges = [(int(producer), int(consumer), float(rng.integers(0, 9))) for producer, consumer in pairs]
    trips = rng.integers(0, 4, len(edges)).astype(np.float64) if seed % 2 else np.ones(len(edges))
    return tasks_of(times, edges, contention=contention, rest_us=1.0 if contention != NONE_CODE else 0.0, trips=trips)


def endless(tasks: Tasks) -> NDArray[np.float64]:
    """[devices] room for everything"""
    return np.full(tasks.time_us.shape[1], ENDLESS)


def assert_plan_can_be_carried_out(tasks: Tasks, device: NDArray[np.int32], end_us: NDArray[np.float64]) -> None:
    """Nothing starts before its inputs can be there, no device does two things at once, a bus sends one at a time."""
    count = len(tasks.group)
    device_of = device[tasks.group]
    time_us = tasks.time_us[np.arange(count), device_of]
    start_us = end_us - time_us
    assert np.isfinite(time_us).all() and (start_us >= 0).all()
    for flow, consumer in enumerate(tasks.consumer.tolist()):
        producer = int(tasks.flow_producer[flow])
        sent_us = tasks.flow_bytes[flow] * tasks.flow_trips[flow] if device_of[producer] != device_of[consumer] else 0.0
        assert start_us[consumer] >= end_us[producer] + sent_us
    for one in range(tasks.time_us.shape[1]):
        spans = sorted((start_us[task], end_us[task]) for task in range(count) if device_of[task] == one)
        lasting = [(start, end) for start, end in spans if end > start]
        assert all(earlier[1] <= later[0] for earlier, later in pairwise(lasting))
    if tasks.links.contention in (BUS_CODE, SENDER_CODE):
        _assert_the_buses_are_long_enough(tasks, device_of, start_us)


def _assert_the_buses_are_long_enough(
    tasks: Tasks, device_of: NDArray[np.int32], start_us: NDArray[np.float64]
) -> None:
    """All that a device sends fits between the step's begin and the last start of a consumer."""
    remote = device_of[tasks.flow_producer] != device_of[tasks.consumer]
    for one in range(tasks.time_us.shape[1]):
        sent = np.flatnonzero(remote & (device_of[tasks.flow_producer] == one))
        if len(sent):
            rests_us = tasks.links.rest_us * tasks.flow_trips[sent]  # all but that of the last one
            busy_us = (tasks.flow_bytes * tasks.flow_trips)[sent].sum() + rests_us.sum() - rests_us.max()
            assert start_us[tasks.consumer[sent]].max() >= busy_us


def _firsts(owner: NDArray[np.int64], owners: int) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=owners)))).astype(np.int64)
