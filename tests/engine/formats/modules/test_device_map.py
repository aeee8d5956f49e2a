"""Device maps: written with as few entries as say the placement, read by accelerate, and read back into it."""

import json

import numpy as np
import pytest
import torch
from accelerate.utils.modeling import check_device_map
from hypothesis import given
from hypothesis import strategies as st

from engine.clusters.parsing import parse_cluster
from engine.errors import GraphError, PlacementError
from engine.events import Json
from engine.formats.modules.device_map import device_map_of, devices_of_map, is_device_map
from engine.formats.modules.paths import ModuleTree, module_paths, path_of
from engine.graphs.colocation import colocation_classes
from engine.graphs.origin import Origin
from engine.placement_files import simulate
from engine.prepared import PreparedGraph
from tests.engine.formats.modules.recorded_chain import along, nodes_and_edges, prepared_of, recorded_chain, units

CLUSTER = parse_cluster("3xA100+cpu")
CHAIN = recorded_chain()


class Chain(torch.nn.Module):
    """The model of which `recorded_chain` is a recording."""

    def __init__(self, layers: int = 4) -> None:
        super().__init__()
        self.embed = torch.nn.Linear(4, 4, bias=False)
        self.layers = torch.nn.ModuleList(
            torch.nn.ModuleDict({part: torch.nn.Linear(4, 4, bias=False) for part in ("attn", "mlp")})
            for _ in range(layers)
        )
        self.head = torch.nn.Linear(4, 4, bias=False)


def test_equal_devices_become_one_entry() -> None:
    of_unit = dict.fromkeys(units(CHAIN), 0)
    assert device_map_of(CHAIN, CLUSTER, along(CHAIN, of_unit)) == {"": 0}
    of_unit |= {"layers.2.attn": 1, "layers.2.mlp": 1, "layers.3.attn": 1, "layers.3.mlp": 3, "head": 3}
    assert device_map_of(CHAIN, CLUSTER, along(CHAIN, of_unit)) == {
        "embed": 0,
        "layers.0": 0,
        "layers.1": 0,
        "layers.2": 1,
        "layers.3.attn": 1,
        "layers.3.mlp": "cpu",
        "head": "cpu",
    }


@given(st.lists(st.integers(0, 3), min_size=10, max_size=10))
def test_a_map_is_read_back_as_its_placement_and_covers_every_parameter(devices: list[int]) -> None:
    placement = along(CHAIN, dict(zip(units(CHAIN), devices, strict=True)))
    device_map = device_map_of(CHAIN, CLUSTER, placement)
    assert is_device_map(device_map)
    check_device_map(Chain(), device_map)  # accelerate raises where a parameter has no device
    back = devices_of_map(CHAIN, CLUSTER, device_map)
    inside = np.array([path is not None for path in module_paths(CHAIN.graph, ())])
    assert back[inside].tolist() == placement[inside].tolist()
    assert back[0] == placement[2]  # the input lies where it is taken first


def with_ops_between() -> PreparedGraph:
    """`layers/2` itself copies what it is given before its modules run, and the gradient of that behind them."""
    nodes, edges = nodes_and_edges(4)
    own = {"type": "clone", "flops": 0, "bytes_accessed": 1 << 20, "output_bytes": [1 << 20], "colocation": "layers/2"}
    before = next(number for number, node in enumerate(nodes) if node["id"] == "layers/2/attn/weight")
    nodes.insert(before, {"id": "layers/2/clone", "phase": "forward", **own})
    nodes.append({"id": "layers/2/backward_clone", "phase": "backward", **own})
    for edge in edges:
        if edge == {"source": "layers/1/mlp/mm", "target": "layers/2/attn/mm"}:
            edge["source"] = "layers/2/clone"
        if edge == {"source": "layers/2/attn/backward_mm", "target": "layers/1/mlp/backward_mm"}:
            edge["source"] = "layers/2/backward_clone"
    edges.append({"source": "layers/1/mlp/mm", "target": "layers/2/clone"})
    edges.append({"source": "layers/2/attn/backward_mm", "target": "layers/2/backward_clone"})
    return prepared_of(nodes, edges)


WINDOWS = with_ops_between()


@given(st.lists(st.integers(0, 3), min_size=11, max_size=11))
def test_ops_of_a_split_module_that_read_none_of_its_modules_come_back_where_they_were(devices: list[int]) -> None:
    device_of_unit = dict(zip(units(WINDOWS), devices, strict=True))
    placement = along(WINDOWS, device_of_unit)
    device_map = device_map_of(WINDOWS, CLUSTER, placement)
    back = devices_of_map(WINDOWS, CLUSTER, json.loads(json.dumps(device_map)))
    assert back[1:].tolist() == placement[1:].tolist()
    where_the_data_is = device_of_unit["layers/2"] == device_of_unit["layers.1.mlp"]
    if where_the_data_is and len({device_of_unit["layers.2.attn"], device_of_unit["layers.2.mlp"]}) > 1:
        assert "layers.2" not in device_map  # the ops of both passes follow what the forward pass reads


def test_accelerates_own_map_is_read() -> None:
    from accelerate import infer_auto_device_map

    size = 4 * 4 * 4
    device_map = infer_auto_device_map(Chain(), max_memory={0: 4 * size, 1: 6 * size, 2: 100 * size})
    assert len(set(device_map.values())) > 1
    found = devices_of_map(CHAIN, CLUSTER, dict(device_map))
    tree = ModuleTree.of(CHAIN, found.tolist())
    for each in tree.below():
        if path_of(each.path) in device_map:
            assert each.devices == {device_map[path_of(each.path)]}
    [report] = simulate(CHAIN, CLUSTER, [dict(device_map)])
    assert isinstance(report, dict) and float(str(report["step_time_us"])) > 0


def test_tied_modules_share_a_device() -> None:
    tied = recorded_chain(tied=True)
    with pytest.raises(PlacementError, match="what PyTorch runs as one, embed, is on several devices of the map"):
        devices_of_map(tied, CLUSTER, {"embed": 0, "layers": 0, "head": 1})
    found = devices_of_map(tied, CLUSTER, {"embed": 0, "layers": 1, "head": 0})
    assert len(np.unique(colocation_classes(tied.graph)[found == 0])) == 2


@pytest.mark.parametrize(
    ("device_map", "words"),
    [
        ({"": "disk"}, "weights on disk are not placed"),
        ({"": 7}, "7 is no device on which a step can run; allowed: 0, 1, 2, cpu"),
        ({"": "cuda:3"}, "is no device on which a step can run"),
        ({"": "tpu"}, "is no device on which a step can run"),
        ({"": True, "embed": 0}, "is no device on which a step can run"),
        ({"": 1.5, "embed": 0}, "is no device on which a step can run"),
        ({"encoder": 0}, "the model has none of the map's modules"),
        ({"embed": 0, "layers.0": 1}, "layers.1.attn.weight: it has no device"),
    ],
)
def test_maps_that_are_refused_in_one_line(device_map: dict[str, Json], words: str) -> None:
    with pytest.raises(PlacementError) as error:
        devices_of_map(CHAIN, CLUSTER, device_map)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_what_has_no_modules_is_refused() -> None:
    plain = PreparedGraph(CHAIN.graph, CHAIN.costs, CHAIN.grouping, Origin(".json"))
    with pytest.raises(GraphError, match="its ops have no module paths"):
        device_map_of(plain, CLUSTER, along(CHAIN, {}))
    with pytest.raises(PlacementError, match="PyTorch has one CPU"):
        device_map_of(CHAIN, parse_cluster("2xCPU"), along(CHAIN, {}))
    split = along(CHAIN, {})
    split[CHAIN.graph.op_names.index("layers/1/mlp/backward_mm")] = 1
    with pytest.raises(PlacementError, match=r"module layers.1.mlp: its ops are on several devices"):
        device_map_of(CHAIN, CLUSTER, split)


def test_a_loss_beside_the_model_is_no_module_of_the_map() -> None:
    beside = recorded_chain(own_loss=True)
    of_unit = dict.fromkeys(units(beside), 0) | {"head": 1}
    device_map = device_map_of(beside, CLUSTER, along(beside, of_unit))
    assert device_map == {"embed": 0, "layers": 0, "head": 1}
    found = devices_of_map(beside, CLUSTER, device_map)
    assert found[beside.graph.op_names.index("loss/nll")] == 1, "where its data is"
