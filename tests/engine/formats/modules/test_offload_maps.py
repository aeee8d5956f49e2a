"""Device maps of models whose weights may wait in CPU memory: beside accelerate's own hooks, which run them here."""

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import placeto
import pytest
import torch
from accelerate import dispatch_model, infer_auto_device_map
from accelerate.hooks import AlignDevicesHook
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from transformers import LlamaConfig, LlamaForCausalLM

from engine.clusters.cluster import Cluster
from engine.clusters.parsing import parse_cluster
from engine.errors import PlacementError
from engine.events import Json
from engine.explaining.judging import judgement
from engine.formats.modules.device_map import device_map_of, devices_of_map
from engine.formats.modules.stages import split_spec_of
from engine.formats.node_link.reader import parsed
from engine.formats.offloading.apart import with_weights_apart
from engine.graphs.graph import CONTROL
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.origin import Origin
from engine.number_words import bytes_words
from engine.placers.registry import make_placer
from engine.prepared import PreparedGraph
from engine.problem.making import problem_of
from engine.simulator import Simulator

ONE, TWO = parse_cluster("RTX3090+cpu"), parse_cluster("2xRTX3090+cpu")
LAYERS = 3
UNITS = ["model.embed_tokens", *(f"model.layers.{layer}" for layer in range(LAYERS)), "model.norm", "lm_head"]
TOKENS = {"input_ids": torch.zeros(2, 8, dtype=torch.long)}


def model_of(*, tied: bool = False) -> LlamaForCausalLM:
    config = LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        vocab_size=100,
        tie_word_embeddings=tied,
    )
    return LlamaForCausalLM(config).eval()


def read(*, tied: bool = False, offload: bool = True) -> PreparedGraph:
    """A recording of the model, read with or without weights that may wait."""
    found = parsed(json.dumps(placeto.record(model_of(tied=tied), TOKENS).to_json()).encode())
    graph, costs = found.graph, found.costs
    if offload:
        apart = with_weights_apart(graph, costs, found.held, "torch")
        graph, costs = apart.graph, apart.costs
    return PreparedGraph(graph, costs, group_ops(graph, costs, None), Origin(".json", framework="torch"))


LLAMA, TIED, PLAIN = read(), read(tied=True), read(offload=False)


def device_of(prepared: PreparedGraph, devices: NDArray[np.integer], name: str) -> int:
    return int(devices[prepared.graph.op_names.index(name)])


def full_map(devices: Mapping[str, Json]) -> dict[str, Json]:
    """A map of the units, with the module without weights on the first GPU."""
    return {"model.rotary_emb": 0, **devices}


def dispatched(device_map: Mapping[str, Json], *, tied: bool = False) -> torch.nn.Module:
    """The model with accelerate's hooks, with torch's device `meta` in the place of GPU 0."""
    here = {path: "meta" if device == 0 else device for path, device in device_map.items()}
    found: torch.nn.Module = dispatch_model(model_of(tied=tied), here, force_hooks=True)
    return found


def hooks_of(module: torch.nn.Module) -> list[AlignDevicesHook]:
    hook = getattr(module, "_hf_hook", None)
    return [each for each in getattr(hook, "hooks", [hook]) if isinstance(each, AlignDevicesHook)]


@given(st.lists(st.sampled_from([0, "cpu"]), min_size=len(UNITS), max_size=len(UNITS)))
def test_weights_wait_and_modules_run_where_accelerates_hooks_say(devices: list[Json]) -> None:
    device_map = full_map(dict(zip(UNITS, devices, strict=True)))
    ours = devices_of_map(LLAMA, ONE, device_map)
    for name, module in dispatched(device_map).named_modules():
        for parameter, _ in module.named_parameters(recurse=False):
            path = f"{name.replace('.', '/')}/{parameter}"
            waits = any(hook.offload for hook in hooks_of(module))
            assert (device_of(LLAMA, ours, path) == 1) == waits, path
            assert {str(hook.execution_device) for hook in hooks_of(module)} == {"meta"}
    ops = ours[~LLAMA.graph.waiting_weights]
    assert (ops == 0).all(), "all ops run on the main device"
    assert devices_of_map(LLAMA, ONE, device_map_of(LLAMA, ONE, ours)).tolist() == ours.tolist()


@contextmanager
def copies_noted(model: torch.nn.Module) -> Iterator[list[str]]:
    """The parameters that accelerate copies, in the order in which it does so."""
    names, noted = {id(module): name for name, module in model.named_modules()}, list[str]()
    original = AlignDevicesHook.pre_forward

    def noting(hook: AlignDevicesHook, module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        if hook.offload:
            name = names[id(module)].replace(".", "/")
            noted.extend(f"{name}/{parameter}" for parameter, _ in module.named_parameters(recurse=False))
        return original(hook, module, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AlignDevicesHook, "pre_forward", noting)
        yield noted


@pytest.mark.parametrize("tied", [False, True])
def test_weights_are_sent_in_the_order_in_which_accelerate_copies_them_one_at_a_time(tied: bool) -> None:
    prepared = TIED if tied else LLAMA
    device_map = full_map(dict.fromkeys(UNITS, "cpu"))
    model = dispatched(device_map, tied=tied)
    with copies_noted(model) as copies, torch.no_grad():
        mask = torch.zeros(2, 1, 8, 8, device="meta")
        model(input_ids=TOKENS["input_ids"].to("meta"), attention_mask=mask, use_cache=False)
    ours = devices_of_map(prepared, ONE, device_map)
    timeline = Simulator(prepared.graph, prepared.costs, ONE).timeline(ours)
    sent = timeline.transfers
    weights = [place for place in np.argsort(sent.start_us).tolist() if prepared.graph.waiting_weights[sent.op[place]]]
    assert len(copies) == 9 * LAYERS + 3
    assert [prepared.graph.op_names[sent.op[place]] for place in weights] == copies
    for before, after in itertools.pairwise(weights):
        assert sent.start_us[after] >= timeline.end_us[first_taker(prepared, int(sent.op[before]))]


def first_taker(prepared: PreparedGraph, op: int) -> int:
    """The first op on the GPU that takes these weights."""
    graph = prepared.graph
    takers = graph.edge_target[(graph.edge_source == op) & (graph.edge_output != CONTROL)]
    return int(takers[~graph.waiting_weights[takers]].min())


def test_a_map_of_the_cpu_alone_runs_there() -> None:
    assert (devices_of_map(LLAMA, ONE, {"": "cpu"}) == 1).all()


def test_with_two_gpus_the_lower_one_runs_what_waits() -> None:
    devices: dict[str, Json] = {**dict.fromkeys(UNITS, 1), "model.layers.0": "cpu", "model.layers.1": 0}
    ours = devices_of_map(LLAMA, TWO, full_map(devices))
    assert device_of(LLAMA, ours, "model/layers/0/mlp/up_proj/weight") == 2
    assert device_of(LLAMA, ours, "model/layers/0/mlp/up_proj/mm") == 0
    assert device_of(LLAMA, ours, "model/layers/2/mlp/up_proj/mm") == 1
    written = device_map_of(LLAMA, TWO, ours)
    assert devices_of_map(LLAMA, TWO, written).tolist() == ours.tolist()


def moved(cluster: Cluster, devices: Mapping[str, Json], where: str, device: int) -> NDArray[np.int32]:
    """The placement of a map, with the ops or weights whose label is `where` on another device."""
    ours = devices_of_map(LLAMA, cluster, full_map(devices)).copy()
    for op, labels in enumerate(LLAMA.graph.colocation):
        if where in labels:
            ours[op] = device
    return ours


@pytest.mark.parametrize(
    ("where", "device", "words"),
    [
        ("model/layers/1", 1, "it is on GPU 1, and with a device map accelerate has it on GPU 0"),
        ("weights of model/layers/2", 1, "it is on GPU 0, and with a device map accelerate has it on GPU 1"),
        ("model/layers/1", 2, "it is on CPU 0, and with a device map accelerate has it on GPU 0"),
    ],
)
def test_what_accelerate_does_not_do_is_refused_in_one_line(where: str, device: int, words: str) -> None:
    """Ops whose weights wait on another GPU than the first, weights that wait on a GPU, ops on the CPU."""
    placement = moved(TWO, {**dict.fromkeys(UNITS, 0), "model.layers.1": "cpu"}, where, device)
    with pytest.raises(PlacementError) as error:
        device_map_of(LLAMA, TWO, placement)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_weights_on_disk_are_refused_in_one_line() -> None:
    with pytest.raises(PlacementError, match="weights on disk are not placed; allowed: 0, cpu"):
        devices_of_map(LLAMA, ONE, {"": 0, "lm_head": "disk"})


def test_stages_keep_their_weights() -> None:
    placement = devices_of_map(LLAMA, ONE, full_map({**dict.fromkeys(UNITS, 0), "lm_head": "cpu"}))
    with pytest.raises(PlacementError, match="its weights wait on another device, and a stage has its weights with it"):
        split_spec_of(LLAMA, ONE, placement)


@pytest.mark.parametrize("share", [0.5, 0.6, 0.75, 0.9])
def test_accelerate_auto_lets_wait_what_accelerate_would(share: float) -> None:
    model = model_of()
    total = sum(parameter.nbytes for parameter in model.parameters())
    room = int(share * total)
    theirs = infer_auto_device_map(model, {0: room, "cpu": 10**9}, no_split_module_classes=["LlamaDecoderLayer"])
    device = {"name": "/device:GPU:0", "kind": "RTX3090", "memory_bytes": room}
    cpu = {"name": "/device:CPU:0", "kind": "CPU", "memory_bytes": 10**9}
    cluster = parse_cluster(json.dumps({"devices": [device, cpu]}))
    problem = problem_of(LLAMA, cluster)
    make_placer("accelerate_auto", {}).place(problem, np.random.default_rng(0), lambda: False)
    ours = problem.ledger.answer()[LLAMA.grouping.group_of_op]
    assert ours.tolist() == devices_of_map(LLAMA, cluster, dict(theirs)).tolist()


def test_a_map_read_as_if_cpu_modules_ran_there_is_judged_with_what_accelerate_does() -> None:
    device_map: Json = full_map({**dict.fromkeys(UNITS, 0), "lm_head": "cpu"})
    hint = (
        "; modules on cpu run there, as with placeto.apply; accelerate runs them on GPU 0, their weights waiting in "
        "CPU memory: to judge that, read the graph with --offload (in the browser: Weights may wait in CPU memory)"
    )
    assert judgement(PLAIN, ONE, device_map).endswith(hint)
    head = LLAMA.graph.op_names.index("lm_head/weight")
    said = judgement(LLAMA, ONE, device_map)
    assert said.endswith(f"{bytes_words(int(LLAMA.costs.persistent_bytes[head]))} of weights wait on CPU 0")
    assert "accelerate" not in said and "CPU 0 idles" not in said
    assert "accelerate" not in judgement(PLAIN, ONE, {"": "cpu"})
    assert "accelerate" not in judgement(PLAIN, ONE, {"": 0})
