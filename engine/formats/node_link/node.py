"""Reads one node of a node-link file: an op with its times, or its work."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.clusters.device_kinds import class_of_kind
from engine.costs.costs import ANY_KIND
from engine.errors import CostError
from engine.events import Json
from engine.formats.node_link.values import (
    NodeJson,
    optional_text,
    place_of,
    read_bytes,
    read_id,
    read_kinds,
    read_launches,
    read_output_bytes,
    read_times_us,
    read_trips,
    wrong,
)
from engine.formats.node_link.work import Buffer, NodeWork, read_buffers, read_parameters, read_phase, read_work
from engine.graphs.device_string import parse_device_string


@dataclass(frozen=True, slots=True)
class NodeOp:
    """One checked node."""

    name: str
    type: str
    times_us: Mapping[str, float]
    """kind → time; empty where the file's ops have work"""
    work: NodeWork | None
    kinds: tuple[str, ...]
    """those on which it can run; empty: all"""
    output_bytes: list[int]
    buffers: tuple[Buffer, ...]
    persistent_bytes: int
    temporary_bytes: int
    trips: int
    launches: int
    label: str
    device: str
    phase: int
    """an index of `PHASES`"""
    parameters: int


def read_node(node: Json, index: int, with_work: bool) -> NodeOp:
    """The op of a node; `with_work`: whether the file's ops say what they do. Raises GraphError, CostError."""
    if not isinstance(node, dict):
        raise wrong(node, f"node {index}", "an object with id, time_us and output_bytes")
    name = read_id(node.get("id"), f"node {index}, id")
    where = place_of(index, name)
    device = optional_text(node, where, "device")
    parse_device_string(device, name)
    output_bytes = read_output_bytes(node, where)
    return NodeOp(
        name=name,
        type=optional_text(node, where, "type"),
        times_us={} if with_work else _times_on_its_devices(node, where),
        work=read_work(node, where) if with_work else None,
        kinds=tuple(read_kinds(node, where)),
        output_bytes=output_bytes,
        buffers=read_buffers(node, where, len(output_bytes)),
        persistent_bytes=read_bytes(node.get("persistent_bytes", 0), f"{where}, persistent_bytes"),
        temporary_bytes=read_bytes(node.get("temporary_bytes", 0), f"{where}, temporary_bytes"),
        trips=read_trips(node.get("trips", 1), f"{where}, trips"),
        launches=read_launches(node.get("launches", 1), f"{where}, launches"),
        label=optional_text(node, where, "colocation"),
        device=device,
        phase=read_phase(node, where),
        parameters=read_parameters(node, where),
    )


def why_not_on(device_class: str, op: NodeOp) -> str:
    """Why an op with work cannot run on a class, as the end of a sentence; empty where it can."""
    if op.kinds and device_class not in {class_of_kind(kind) for kind in op.kinds}:
        return f"the file lists {' and '.join(op.kinds)} as its devices"
    return ""


def _times_on_its_devices(node: NodeJson, where: str) -> dict[str, float]:
    """Kind → time, only for the kinds in `devices` and their members. Raises CostError."""
    times_us = read_times_us(node, where)
    kinds = read_kinds(node, where)
    if not kinds:
        return times_us
    times = {
        kind: time_us
        for kind, time_us in times_us.items()
        if kind in kinds or (kind != ANY_KIND and class_of_kind(kind) in kinds)
    }
    for kind in kinds:
        wider = next((times_us[wide] for wide in (kind, class_of_kind(kind), ANY_KIND) if wide in times_us), None)
        if wider is not None:
            times[kind] = wider
        elif not any(class_of_kind(narrow) == kind for narrow in times):
            what = f"no time on {kind}, which is among its devices"
            raise CostError(what, where=where, allowed="a time for each of its devices", field="file")
    return times
