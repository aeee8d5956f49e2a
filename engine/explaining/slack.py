"""How much later each activity of a step could end without making the step longer."""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.files.compiled import compiled
from engine.graphs.graph import ComputationGraph
from engine.simulator.timeline import NOT_SENT, NOT_WAITED, Timeline


def slack_of(timeline: Timeline, graph: ComputationGraph) -> NDArray[np.float64]:
    """[ops + transfers] how much later each could end, while every device and link keeps its order.

    `graph` is the executed part. What takes no time has a place in a queue only where it waited there.
    """
    start_us = np.concatenate((timeline.start_us, timeline.transfers.start_us))
    end_us = np.concatenate((timeline.end_us, timeline.transfers.end_us))
    before, after, rest_us = _waits(timeline, graph, start_us, end_us)
    by_after = np.argsort(after, kind="stable")
    first = np.searchsorted(after[by_after], np.arange(len(start_us) + 1))
    latest_us = timeline.step_time_us - np.maximum(timeline.rest_after_us, 0.0)
    followers = np.bincount(before, minlength=len(start_us))
    _pass_back(followers, first, before[by_after], rest_us[by_after], end_us - start_us, latest_us)
    return np.maximum(latest_us - end_us, 0.0)


def _waits(
    timeline: Timeline, graph: ComputationGraph, start_us: NDArray[np.float64], end_us: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """[waits] the activity that ends, the one that begins after it, and the least time in between."""
    ops, made = graph.op_count, timeline.transfers.op.astype(np.int64)
    sent = timeline.transfer_of_edge != NOT_SENT
    bringer = np.where(sent, ops + timeline.transfer_of_edge, graph.edge_source)
    occupying = np.flatnonzero(timeline.free_us > start_us)
    occupying = occupying[np.lexsort((end_us[occupying], start_us[occupying]))]
    on_devices = _neighbours(occupying[timeline.occupied_device[occupying] != NO_DEVICE], timeline.occupied_device)
    on_channels = ops + _neighbours(occupying[occupying >= ops] - ops, timeline.transfers.channel)
    waited = np.flatnonzero(timeline.waited_for != NOT_WAITED)
    behind = np.concatenate((on_devices, on_channels, np.stack((timeline.waited_for[waited], waited))), axis=1)
    rest_us = timeline.rest_after_us[behind[0]]
    rest_us = np.minimum(rest_us, start_us[behind[1]] - end_us[behind[0]])  # an input needs no rest before it is used
    before = np.concatenate((bringer, made, behind[0]))
    after = np.concatenate((graph.edge_target, ops + np.arange(len(made)), behind[1]))
    return before, after, np.concatenate((np.zeros(len(bringer) + len(made)), rest_us))


def _neighbours(order: NDArray[np.int64], queue: NDArray[np.integer]) -> NDArray[np.int64]:
    """[2, pairs] the members of each queue that follow each other; `order` holds all members, `queue` theirs."""
    by_queue = order[np.argsort(queue[order], kind="stable")]
    together = queue[by_queue[1:]] == queue[by_queue[:-1]]
    return np.stack((by_queue[:-1][together], by_queue[1:][together]))


@compiled
def _pass_back(
    followers: NDArray[np.int64],
    first: NDArray[np.int64],
    before: NDArray[np.int64],
    rest_us: NDArray[np.float64],
    time_us: NDArray[np.float64],
    latest_us: NDArray[np.float64],
) -> None:
    """Lower `latest_us`, the latest end of each activity, to what those that come after it allow."""
    order = np.empty(len(followers), np.int64)
    known = 0
    for activity in range(len(followers)):
        if followers[activity] == 0:
            order[known] = activity
            known += 1
    done = 0
    while done < known:
        activity = order[done]
        done += 1
        start_us = latest_us[activity] - time_us[activity]
        for place in range(first[activity], first[activity + 1]):
            earlier = before[place]
            latest_us[earlier] = min(latest_us[earlier], start_us - rest_us[place])
            followers[earlier] -= 1
            if followers[earlier] == 0:
                order[known] = earlier
                known += 1
