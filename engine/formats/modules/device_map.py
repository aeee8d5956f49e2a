"""Device maps, {module path: device}, as accelerate and Hugging Face's `from_pretrained` read them."""

import re
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.errors import PlacementError, shortened
from engine.events import Json
from engine.files.json_text import shown
from engine.formats.modules.paths import HELD, ModuleTree, module_paths, path_of, require_modules
from engine.formats.modules.waiting import main_device, require_said, run_by_accelerate, said_of
from engine.graphs.colocation import colocation_classes
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.ordering import levels
from engine.prepared import PreparedGraph

GPU = re.compile(r"(?:cuda:)?(\d{1,4})")
ELSEWHERE = ("disk", "meta")
"""devices of a map on which no step runs"""
UNPLACED = -1


def device_map_of(prepared: PreparedGraph, cluster: Cluster, device_of_op: NDArray[np.integer]) -> dict[str, Json]:
    """{module path: number of a GPU, or `cpu`}, with as few entries as say the placement `device_of_op` [ops].

    A module that is split has an entry of its own where its own ops would otherwise be read back elsewhere. Of a graph
    whose weights may wait in CPU memory, the entries are those with which accelerate does what the placement says.

    Raises GraphError for a graph without modules, PlacementError for devices of several machines, a module that the
    placement splits though PyTorch runs it on one device, or weights that wait where accelerate lets none wait.
    """
    require_modules(prepared.origin)
    names = torch_devices(cluster)
    tree = ModuleTree.of(prepared, said_of(prepared.graph, device_of_op).tolist())
    _require_whole(tree)
    device_of_path = {each.path: next(iter(each.devices)) for each in tree.whole()}
    while True:
        device_map = {path_of(path): names[device] for path, device in device_of_path.items()}
        read_back = devices_of_map(prepared, cluster, device_map)
        astray = _modules_read_elsewhere(prepared, device_of_op, read_back)
        more = {
            each.path: next(iter(each.own or each.devices))
            for each in tree.below()
            if each.path in device_of_path or (each.own and len(each.devices) > 1 and _is_in_any(each.path, astray))
        }
        if not astray - device_of_path.keys() or more == device_of_path:
            require_said(prepared.graph, cluster, device_of_op, read_back)
            return device_map
        device_of_path = more


def _modules_read_elsewhere(
    prepared: PreparedGraph, device_of_op: NDArray[np.integer], read_back: NDArray[np.integer]
) -> set[tuple[str, ...]]:
    paths = module_paths(prepared.graph, prepared.origin.beside)
    return {path for op in np.flatnonzero(device_of_op != read_back).tolist() if (path := paths[op]) is not None}


def _is_in_any(path: tuple[str, ...], modules: Collection[tuple[str, ...]]) -> bool:
    """Whether a module is one of `modules` or lies in one of them."""
    return any(path[:depth] in modules for depth in range(len(path) + 1))


def _require_whole(tree: ModuleTree) -> None:
    if len(tree.own) > 1:
        raise PlacementError(
            "its ops are on several devices, and PyTorch moves a module as a whole",
            where=f"module {shortened(path_of(tree.path)) or 'of the model itself'}",
            allowed="a placement with each module's own ops on one device",
            field="placement",
        )
    for child in tree.children.values():
        _require_whole(child)


def torch_devices(cluster: Cluster) -> list[Json]:
    """[devices] how a device map names each. Raises PlacementError for several machines or several CPUs."""
    if len({device.machine for device in cluster.devices}) > 1:
        raise PlacementError("a device map is for one machine", where="cluster", allowed="devices of one machine")
    if sum(device.is_cpu for device in cluster.devices) > 1:
        raise PlacementError("PyTorch has one CPU", where="cluster", allowed="at most one CPU")
    return ["cpu" if device.is_cpu else _number(device.name) for device in cluster.devices]


def _number(name: str) -> int:
    return int(name.rpartition(":")[2])


def is_device_map(placement: Json) -> bool:
    """Whether the JSON is a device map: its devices are numbers, or such as `cpu`; a placement of ops has `/...`."""
    if not isinstance(placement, dict):
        return False
    return any(_is_device(value) and not str(value).startswith("/") for value in placement.values())


def _is_device(value: Json) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def main_of_map(cluster: Cluster, device_map: Mapping[str, Json]) -> int | None:
    """The device on which accelerate runs a map's modules on `cpu`; None where the map names no GPU.

    Raises PlacementError as `devices_of_map`.
    """
    return _main(cluster, _device_of_path(cluster, device_map))


def _main(cluster: Cluster, device_of_path: Mapping[str, int]) -> int | None:
    main = main_device(cluster, np.array(list(device_of_path.values()), dtype=np.int32))
    return None if main == UNPLACED else main


def _device_of_path(cluster: Cluster, device_map: Mapping[str, Json]) -> dict[str, int]:
    index_of_name = {name: index for index, name in enumerate(torch_devices(cluster))}
    return {path: _device(path, value, index_of_name) for path, value in device_map.items()}


def devices_of_map(prepared: PreparedGraph, cluster: Cluster, device_map: Mapping[str, Json]) -> NDArray[np.int32]:
    """[ops] the devices of a map's modules; what belongs to no module goes where its data is.

    Of a graph whose weights may wait in CPU memory, ops of modules on `cpu` run on the main device, as accelerate has
    it. The longest path that an op's module begins with counts.

    Raises PlacementError for a device or module that is not there, a module without a device, or a module that PyTorch
    runs on one device and whose parts the map puts on several.
    """
    device_of_path = _device_of_path(cluster, device_map)
    found, main = _by_module(prepared, device_of_path), _main(cluster, device_of_path)
    if main is not None:
        found = run_by_accelerate(prepared.graph, cluster, found, main)
    return completed(prepared.graph, found)


def modules_without_ops(prepared: PreparedGraph, device_map: Mapping[str, Json]) -> list[str]:
    """The paths of a map in which no op of the graph lies: of modules that a step does not call, or misspelt ones."""
    known = {
        path_of(parts[:depth])
        for parts in set(filter(None, module_paths(prepared.graph, prepared.origin.beside)))
        for depth in range(len(parts) + 1)
    }
    return [path for path in device_map if path and path not in known]


def completed(graph: ComputationGraph, found: NDArray[np.int32]) -> NDArray[np.int32]:
    """`found`, [ops], with a device in place of each `UNPLACED`: that of the op's unit, else where its data is.

    Raises PlacementError for a unit on several devices, and a parameter or buffer without a device.
    """
    _follow_labels(graph, found)
    for op in np.flatnonzero(found == UNPLACED).tolist():
        if graph.op_types[op] in HELD:
            where, allowed = path_of(graph.op_names[op].split("/")), 'a device for every parameter, or for ""'
            raise PlacementError("it has no device", where=shortened(where), allowed=allowed, field="file")
    _follow_data(graph, found)
    return np.where(found == UNPLACED, 0, found).astype(np.int32)


def _device(path: str, value: Json, index_of_name: Mapping[Json, int]) -> int:
    name: Json = value
    if isinstance(value, str) and (match := GPU.fullmatch(value)):
        name = int(match[1])
    if not _is_device(value) or name not in index_of_name:
        what = f"{shown(value)} is no device on which a step can run"
        if value in ELSEWHERE:
            what = f"weights on {value} are not placed"
        allowed = ", ".join(str(each) for each in index_of_name)
        raise PlacementError(what, where=shortened(path) or "the whole model", allowed=allowed, field="file")
    return index_of_name[name]


def _by_module(prepared: PreparedGraph, device_of_path: Mapping[str, int]) -> NDArray[np.int32]:
    """[ops] the device of the longest path in the map, `UNPLACED` without one. Raises PlacementError."""
    graph = prepared.graph
    found = np.full(graph.op_count, UNPLACED, dtype=np.int32)
    used: set[str] = set()
    device_of_parts: dict[tuple[str, ...], int] = {}
    for op, parts in enumerate(module_paths(graph, prepared.origin.beside)):
        if parts is None:
            continue
        if parts not in device_of_parts:
            prefixes = [path_of(parts[:depth]) for depth in range(len(parts), -1, -1)]
            path = next((prefix for prefix in prefixes if prefix in device_of_path), None)
            used.update(prefixes)
            device_of_parts[parts] = UNPLACED if path is None else device_of_path[path]
        found[op] = device_of_parts[parts]
    if not used.intersection(device_of_path):
        some = ", ".join(sorted(path for path in used if path)[:3])
        where = shortened(next(iter(device_of_path)))
        raise PlacementError("the model has none of the map's modules", where=where, allowed=f"{some}, …", field="file")
    return found


def _follow_labels(graph: ComputationGraph, found: NDArray[np.int32]) -> None:
    """Put ops without an entry where the others of their unit are. Raises PlacementError for a unit on two devices."""
    device_of_label: dict[str, int] = {}
    for op in np.flatnonzero(found != UNPLACED).tolist():
        for label in graph.colocation[op]:
            if device_of_label.setdefault(label, int(found[op])) != found[op]:
                raise PlacementError(
                    f"what PyTorch runs as one, {shortened(label)}, is on several devices of the map",
                    where=shortened(graph.op_names[op]),
                    allowed="one device",
                    field="file",
                )
    for op in np.flatnonzero(found == UNPLACED).tolist():
        for label in graph.colocation[op]:
            found[op] = device_of_label.get(label, int(found[op]))


def _follow_data(graph: ComputationGraph, found: NDArray[np.int32]) -> None:
    """Put the rest beside the first op from which it takes data, else beside the first that takes its own.

    Where one op of a unit is, all of them are.
    """
    class_of_op = colocation_classes(graph)
    order = np.argsort(class_of_op, kind="stable")
    starts = np.searchsorted(class_of_op[order], np.arange(class_of_op.max(initial=-1) + 2))
    place = levels(np.stack([graph.edge_source, graph.edge_target], axis=1), graph.op_count)
    edges = np.stack([graph.edge_source, graph.edge_target], axis=1)[graph.edge_output != CONTROL]
    forward = edges[np.argsort(place[edges[:, 1]], kind="stable")]
    backward = edges[np.argsort(-place[edges[:, 0]], kind="stable")][:, ::-1]
    for giver, taker in (*forward.tolist(), *backward.tolist()):
        if found[taker] == UNPLACED and found[giver] != UNPLACED:
            unit = class_of_op[taker]
            found[order[starts[unit] : starts[unit + 1]]] = found[giver]
