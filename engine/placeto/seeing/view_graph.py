"""The group graph in the form that compiled code reads while the shared head decides."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.placeto.seeing.features import GroupGraph
from engine.placeto.seeing.list_schedule import ScheduledWork
from engine.placeto.seeing.reachability import Relatives, neighbour_lists


class DeviceViewGraph(NamedTuple):
    """The group graph for compiled code. Times are in mean times of a group."""

    allowed: NDArray[np.bool_]
    """[groups, devices]"""
    prior_scores: NDArray[np.float32]
    """[groups, devices] as in `GroupGraph`"""
    time: NDArray[np.float64]
    """[groups, devices]"""
    memory: NDArray[np.float64]
    """[groups, devices] persistent and output bytes of the group as a share of the device's memory"""
    link_time_per_byte: NDArray[np.float64]
    """[devices, devices]"""
    profile: NDArray[np.float64]
    """[groups, phases] share of the group's work in each phase of a step without waiting"""
    listed: NDArray[np.int32]
    """[SCHEDULES, groups] the device of each group in each list schedule, or NO_DEVICE"""
    device_class: NDArray[np.int32]
    """[devices] devices of one class are alike"""
    parent_offset: NDArray[np.int64]
    parent_index: NDArray[np.int32]
    child_offset: NDArray[np.int64]
    child_index: NDArray[np.int32]
    in_offset: NDArray[np.int64]
    in_source: NDArray[np.int32]
    in_bytes: NDArray[np.float64]
    out_offset: NDArray[np.int64]
    out_target: NDArray[np.int32]
    out_bytes: NDArray[np.float64]
    feedback_offset: NDArray[np.int64]
    feedback_index: NDArray[np.int32]
    """groups that exchange bytes, such as gradients, against the order of the groups"""
    feedback_bytes: NDArray[np.float64]
    whole: ScheduledWork
    """of all ops of each group"""
    forward: ScheduledWork
    """of their forward ops alone"""
    backward: ScheduledWork
    """of their backward ops, mirrored"""


def device_view_graph(graph: GroupGraph, related: Relatives) -> DeviceViewGraph:
    """Convert `graph` and the sets `related` for compiled code."""
    groups, scale = graph.group_count, graph.mean_group_us
    by_target = np.lexsort((graph.edge_source, graph.edge_target))
    by_source = np.lexsort((graph.edge_target, graph.edge_source))
    in_offset, in_source = neighbour_lists(graph.edge_target, graph.edge_source, groups)
    out_offset, out_target = neighbour_lists(graph.edge_source, graph.edge_target, groups)
    kept = graph.persistent_bytes + graph.output_bytes
    feedback_owner = np.concatenate([graph.feedback_source, graph.feedback_target])
    feedback_other = np.concatenate([graph.feedback_target, graph.feedback_source])
    feedback_offset, feedback_index = neighbour_lists(feedback_owner, feedback_other, groups)
    by_owner = np.lexsort((feedback_other, feedback_owner))
    whole = ScheduledWork(
        time=graph.time_us / scale,
        in_offset=in_offset,
        in_source=in_source,
        in_bytes=graph.edge_bytes[by_target],
        in_trips=graph.edge_trips[by_target],
        link_time_per_byte=graph.us_per_byte / scale,
        latency=graph.latency_us / scale,
        link_rest=graph.link_rest_us / scale,
        mirrored=False,
    )
    return DeviceViewGraph(
        allowed=graph.allowed,
        prior_scores=graph.prior_scores,
        time=graph.time_us / scale,
        memory=kept[:, None] / graph.memory_bytes.clip(1)[None, :],
        link_time_per_byte=graph.us_per_byte / scale,
        profile=graph.profile,
        listed=graph.listed,
        device_class=graph.device_class,
        parent_offset=related.parent_offset,
        parent_index=related.parent_index,
        child_offset=related.child_offset,
        child_index=related.child_index,
        in_offset=in_offset,
        in_source=in_source,
        in_bytes=graph.edge_bytes[by_target],
        out_offset=out_offset,
        out_target=out_target,
        out_bytes=graph.edge_bytes[by_source],
        feedback_offset=feedback_offset,
        feedback_index=feedback_index,
        feedback_bytes=np.tile(graph.feedback_bytes, 2)[by_owner],
        whole=whole,
        forward=whole._replace(
            time=(graph.time_us - graph.backward_us).clip(0.0) / scale, in_bytes=graph.edge_forward_bytes[by_target]
        ),
        backward=_mirrored(graph, whole),
    )


def _mirrored(graph: GroupGraph, whole: ScheduledWork) -> ScheduledWork:
    """The backward ops: what a group sends to earlier ones, as its inputs in a schedule from the end back."""
    order = np.lexsort((graph.feedback_target, graph.feedback_source))
    offset, receiver = neighbour_lists(graph.feedback_source, graph.feedback_target, graph.group_count)
    return whole._replace(
        time=graph.backward_us / graph.mean_group_us,
        in_offset=offset,
        in_source=receiver,
        in_bytes=graph.feedback_bytes[order],
        in_trips=np.ones(len(order)),
        mirrored=True,
    )
