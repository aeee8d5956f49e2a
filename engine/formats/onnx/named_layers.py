"""Placements by parts of node names, as ONNX Runtime's session takes them without a change of the model.

The option `session.name_based_layer_assignment` holds rules such as `gpu:0(layers.0/, layers.1/); cpu(embed)`: a node
is where the longest of the parts that its name contains says, else where ONNX Runtime puts it by itself, on the first
provider that runs it. Source: pull request 28903 of the ONNX Runtime repository.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.errors import PlacementError, shortened
from engine.events import Json
from engine.files.json_text import shown
from engine.formats.modules.device_map import UNPLACED, completed
from engine.graphs.onnx.own_types import INITIALIZER, INPUT
from engine.prepared import PreparedGraph

OPTION = "session.name_based_layer_assignment"
BY_ANNOTATION = "session.layer_assignment_settings"
_RULE = re.compile(r"([^()]*)\(([^()]*)\)")
_GPU = re.compile(r"(?:gpu|cuda)(?::(\d{1,4}))?", re.ASCII)
_SPOILS = ",;()="
"""characters that rules cannot have in a name"""
MOST_COMPARISONS = 2 * 10**8
"""parts of names times ops: beyond it rules are refused"""
ROUNDS = 3


def is_assignment(placement: Json) -> bool:
    """Whether the JSON is an object with a session's option in place of devices."""
    return isinstance(placement, dict) and bool(placement.keys() & {OPTION, BY_ANNOTATION})


def devices_of_assignment(
    prepared: PreparedGraph, cluster: Cluster, placement: Mapping[str, Json]
) -> NDArray[np.int32]:
    """[ops] the devices of a session's option; a node that no rule names is on the cluster's first device.

    Raises PlacementError for a text that ONNX Runtime refuses, devices that are not there, and rules of which none
    names a node.
    """
    if OPTION not in placement:
        what = "its layers stand in the annotations of a model, which are not read"
        raise PlacementError(what, where=BY_ANNOTATION, allowed=OPTION, field="file")
    text = placement[OPTION]
    if not isinstance(text, str):
        raise PlacementError(f"it is {shown(text)}", where=OPTION, allowed="a text", field="file")
    device_of_part = _read_rules(text, cluster)
    graph = prepared.graph
    found = _matched(graph.op_names, device_of_part)
    is_node = np.array([op_type not in (INPUT, INITIALIZER) for op_type in graph.op_types])
    if not np.any(found[is_node] != UNPLACED):
        where = shortened(next(iter(device_of_part)))
        raise PlacementError(
            "no node's name contains a part of a name", where=where, allowed="parts of the names of nodes", field="file"
        )
    found[is_node & (found == UNPLACED)] = 0
    found[~is_node] = UNPLACED
    return completed(graph, found)


def named_layers_of(prepared: PreparedGraph, cluster: Cluster, device_of_op: NDArray[np.integer]) -> dict[str, Json]:
    """{`session.name_based_layer_assignment`: rules} that say the placement `device_of_op`, [ops], by few scopes.

    Raises PlacementError for devices of several machines, and where parts of names cannot say the placement.
    """
    graph = prepared.graph
    words = _device_words(cluster)
    nodes = [op for op, op_type in enumerate(graph.op_types) if op_type not in (INPUT, INITIALIZER)]
    names = [graph.op_names[op] for op in nodes]
    devices = device_of_op[nodes].astype(np.int32)
    device_of_part = dict(_whole_scopes(names, devices))
    for _ in range(ROUNDS):
        astray = np.flatnonzero(_matched(names, device_of_part) != devices).tolist()
        if not astray:
            break
        device_of_part |= {names[node]: int(devices[node]) for node in astray}
    else:
        what = "no rule by parts of names can place it, since other names contain its own"
        allowed = "the annotated model (.onnx) in place of rules"
        raise PlacementError(what, where=shortened(names[astray[0]]), allowed=allowed, field="placement")
    _require_plain(device_of_part)
    parts_of_device: defaultdict[int, list[str]] = defaultdict(list)
    for part, device in device_of_part.items():
        parts_of_device[device].append(part)
    rules = (f"{words[device]}({', '.join(parts)})" for device, parts in sorted(parts_of_device.items()))
    return {OPTION: "; ".join(rules)}


def _require_plain(parts: Iterable[str]) -> None:
    """Raise PlacementError for a name that rules cannot have."""
    for part in parts:
        if set(part) & set(_SPOILS) or part != part.strip():
            what, allowed = "a rule cannot have this name", f"names without {_SPOILS} and spaces at their ends"
            raise PlacementError(what, where=shortened(part), allowed=allowed, field="placement")


def _read_rules(text: str, cluster: Cluster) -> dict[str, int]:
    """Part of a name → device. Raises PlacementError."""
    index_of_words = {words: index for index, words in enumerate(_device_words(cluster))}
    device_of_part: dict[str, int] = {}
    for entry in filter(str.strip, text.split(";")):
        match = _RULE.fullmatch(entry.strip())
        if match is None:
            allowed = "gpu:0(part of a name, another); cpu(another)"
            raise PlacementError("this is no rule", where=shortened(entry.strip()), allowed=allowed, field="file")
        device = _device(match[1].strip(), index_of_words)
        for part in map(str.strip, match[2].split(",")):
            if not part or part.startswith("="):
                what = "a part of a name is empty" if not part else "`=` asks for a whole name, and parts have none"
                raise PlacementError(what, where=shortened(entry.strip()), allowed="parts of names", field="file")
            if part in device_of_part:
                raise PlacementError("it stands in two rules", where=shortened(part), allowed="one", field="file")
            device_of_part[part] = device
    if not device_of_part:
        raise PlacementError("it has no rule", where=OPTION, allowed="gpu:0(part of a name)", field="file")
    return device_of_part


def _device(words: str, index_of_words: Mapping[str, int]) -> int:
    gpu = _GPU.fullmatch(words.lower())
    name = f"gpu:{int(gpu[1] or 0)}" if gpu else words.lower()
    if name not in index_of_words:
        raise PlacementError(
            "no such device", where=shortened(words) or "a rule", allowed=", ".join(index_of_words), field="file"
        )
    return index_of_words[name]


def _device_words(cluster: Cluster) -> list[str]:
    """[devices] as rules name them. Raises PlacementError for several machines or several CPUs."""
    if len({device.machine for device in cluster.devices}) > 1:
        raise PlacementError("a session runs on one machine", where="cluster", allowed="devices of one machine")
    if sum(device.is_cpu for device in cluster.devices) > 1:
        raise PlacementError("ONNX Runtime has one CPU", where="cluster", allowed="at most one CPU")
    return ["cpu" if device.is_cpu else f"gpu:{device.name.rpartition(':')[2]}" for device in cluster.devices]


def _matched(names: Sequence[str], device_of_part: Mapping[str, int]) -> NDArray[np.int32]:
    """[names] the device of the longest part in each, `UNPLACED` without one; of parts as long the first.

    Raises PlacementError for too many of both.
    """
    if len(device_of_part) * len(names) > MOST_COMPARISONS:
        what = f"{len(device_of_part)} parts of names for {len(names)} ops"
        raise PlacementError(what, where=OPTION, allowed="fewer parts", field="placement")
    longest_first = sorted(device_of_part, key=len, reverse=True)
    matched = (next((part for part in longest_first if part in name), None) for name in names)
    return np.array([UNPLACED if part is None else device_of_part[part] for part in matched], dtype=np.int32)


def _whole_scopes(names: Sequence[str], devices: NDArray[np.int32]) -> Iterator[tuple[str, int]]:
    """The largest scopes, with a `/` at the end, and single names, each on one device: together all names."""
    devices_of_scope: defaultdict[str, set[int]] = defaultdict(set)
    for name, device in zip(names, devices.tolist(), strict=True):
        for scope in _scopes(name):
            devices_of_scope[scope].add(device)
    for name, device in zip(names, devices.tolist(), strict=True):
        yield next((scope for scope in _scopes(name) if len(devices_of_scope[scope]) == 1), name), device


def _scopes(name: str) -> Iterator[str]:
    """Scopes of a name from the outside: of `/a/b/c` these are `/a/` and `/a/b/`."""
    end = name.find("/", 1)
    while end > 0:
        yield name[: end + 1]
        end = name.find("/", end + 1)
