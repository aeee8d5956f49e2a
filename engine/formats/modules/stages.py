"""Stages of a placement whose devices follow each other along the model: split points, and layers a stage."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.errors import PlacementError, shortened
from engine.events import Json
from engine.files.json_text import shown
from engine.formats.modules.device_map import UNPLACED, completed
from engine.formats.modules.paths import ModuleTree, module_paths, path_of, require_modules
from engine.formats.modules.waiting import said_of
from engine.graphs.graph import ComputationGraph
from engine.prepared import PreparedGraph

SPLIT_SPEC, LAYERS = "split_spec", "layers_per_stage"
BEGINNING = "BEGINNING"
"""the member of `torch.distributed.pipelining.SplitPoint` that begins a stage with a module"""


@dataclass(frozen=True, slots=True)
class Stage:
    """The modules of one device, in the order in which they run."""

    device: int
    modules: tuple[tuple[str, ...], ...]


def stages_of(prepared: PreparedGraph, device_of_op: NDArray[np.integer]) -> list[Stage]:
    """The stages of a placement, [ops], in the order of their first ops.

    Raises GraphError for a graph without modules, PlacementError where a later module returns to a device.
    """
    require_modules(prepared.origin)
    _require_no_waiting(prepared.graph, device_of_op)
    tree = ModuleTree.of(prepared, device_of_op.tolist())
    parts = sorted(tree.whole(), key=lambda part: part.turn)
    found: list[Stage] = []
    for part in parts:
        [device] = part.devices
        if found and found[-1].device == device:
            found[-1] = Stage(device, (*found[-1].modules, part.path))
            continue
        if device in {stage.device for stage in found}:
            raise PlacementError(
                "the placement is no chain of stages: it returns to a device that the step has left",
                where=f"module {shortened(path_of(part.path))}",
                allowed="a placement along the model; a device_map can be written of any",
                field="placement",
            )
        found.append(Stage(device, (part.path,)))
    return found


def _require_no_waiting(graph: ComputationGraph, device_of_op: NDArray[np.integer]) -> None:
    """Raise PlacementError for weights on another device than their ops: stages keep theirs."""
    apart = np.flatnonzero(said_of(graph, device_of_op) != device_of_op)
    if len(apart):
        raise PlacementError(
            "its weights wait on another device, and a stage has its weights with it",
            where=shortened(graph.op_names[int(apart[0])]),
            allowed="weights beside their ops; a device_map can be written",
            field="placement",
        )


def split_spec_of(prepared: PreparedGraph, cluster: Cluster, device_of_op: NDArray[np.integer]) -> dict[str, Json]:
    """`split_spec`, {module: BEGINNING}, for `torch.distributed.pipelining.pipeline`, with the stages and their layers.

    `layers_per_stage` counts the modules of the model's longest list, as vLLM, torchtitan and Megatron want it; null
    where there is no list, or one of its modules is split. Raises as `stages_of`.
    """
    stages = stages_of(prepared, device_of_op)
    return {
        SPLIT_SPEC: {path_of(stage.modules[0]): BEGINNING for stage in stages[1:]},
        "stages": [
            {"device": cluster.devices[stage.device].name, "modules": [path_of(path) for path in stage.modules]}
            for stage in stages
        ],
        LAYERS: layers_per_stage(ModuleTree.of(prepared, device_of_op.tolist()), stages),
    }


def is_split(placement: Json) -> bool:
    """Whether the JSON says where stages begin: `split_spec`, or `layers_per_stage` alone."""
    return isinstance(placement, dict) and bool(placement.keys() & {SPLIT_SPEC, LAYERS})


def devices_of_split(prepared: PreparedGraph, cluster: Cluster, split: Mapping[str, Json]) -> NDArray[np.int32]:
    """[ops] the devices of stages, the first on the cluster's first device, and so on.

    Raises PlacementError for what is no split of this model.
    """
    graph, everywhere = prepared.graph, np.zeros(prepared.graph.op_count, dtype=np.int32)
    tree = ModuleTree.of(prepared, everywhere.tolist())
    points = _points(split[SPLIT_SPEC]) if SPLIT_SPEC in split else _points_of_layers(split[LAYERS], tree)
    turn_of_path = {path_of(each.path): each.turn for each in tree.below()}
    for point in points:
        if point not in turn_of_path:
            some = ", ".join(sorted(turn_of_path)[1:4])
            raise PlacementError("no such module", where=shortened(point), allowed=f"{some}, …", field="file")
    if len(points) >= len(cluster.devices):
        what = f"{len(points) + 1} stages on {len(cluster.devices)} devices"
        raise PlacementError(what, where="the split", allowed="at most one stage a device", field="file")
    turns = sorted(turn_of_path[point] for point in points)
    turn_of_leaf = {each.path: each.turn for each in tree.below() if not each.children}
    found = np.full(graph.op_count, UNPLACED, dtype=np.int32)
    for op, parts in enumerate(module_paths(graph, prepared.origin.beside)):
        if parts in turn_of_leaf:
            found[op] = bisect_right(turns, turn_of_leaf[parts])
    return completed(graph, found)


def _points(value: Json) -> list[str]:
    if not isinstance(value, dict) or any(each != BEGINNING for each in value.values()):
        what, allowed = shown(value), f'{{module: "{BEGINNING}"}}'
        raise PlacementError(what, where=SPLIT_SPEC, allowed=allowed, field="file")
    return list(value)


def _points_of_layers(value: Json, tree: ModuleTree) -> list[str]:
    """The modules at which stages of so many layers begin."""
    longest = longest_list(tree)
    count = 0 if longest is None else len(longest.children)
    if not isinstance(value, list) or any(type(each) is not int or each < 1 for each in value) or sum(value) != count:  # type: ignore[arg-type]  # integers
        allowed = f"numbers from 1 that add up to the model's {count} layers"
        raise PlacementError(shown(value), where=LAYERS, allowed=allowed, field="file")
    assert longest is not None
    starts = np.cumsum(value)[:-1].tolist()  # type: ignore[arg-type]  # integers
    return [path_of((*longest.path, str(start))) for start in starts]


def layers_per_stage(tree: ModuleTree, stages: Sequence[Stage]) -> list[Json] | None:
    """[stages] how many modules of the longest list lie in each."""
    longest = longest_list(tree)
    if longest is None or any(len(layer.devices) > 1 for layer in longest.children.values()):
        return None
    counts = Counter(device for layer in longest.children.values() for device in layer.devices)
    return [counts[stage.device] for stage in stages]


def longest_list(tree: ModuleTree) -> ModuleTree | None:
    """The module with most children among those whose children are numbered, the first of equals; None without one."""
    lists = [each for each in tree.below() if each.children and all(name.isdecimal() for name in each.children)]
    return max(lists, key=lambda each: len(each.children), default=None)
