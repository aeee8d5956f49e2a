"""Whose memory an op uses, in which order it is written, and the peak beside a step that PyTorch really runs."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import placeto
import pytest
import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils import _pytree as pytree
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    ViTConfig,
    ViTForImageClassification,
)

from engine.clusters.parsing import parse_cluster
from engine.formats.node_link.reader import parsed
from engine.simulator.simulator import Simulator
from tests.client import models
from tests.client.twin import check, peak_bytes


def functional(forward: Callable[..., Any]) -> nn.Module:
    """A module of one function."""
    module = nn.Module()
    module.forward = forward
    return module


def edges(recording: placeto.Recording) -> set[tuple[str, str, int | None]]:
    return {(edge["source"], edge["target"], edge["output"]) for edge in recording.edges}


def node(recording: placeto.Recording, name: str) -> dict[str, Any]:
    return next(node for node in recording.nodes if node["id"] == name)


def test_a_view_costs_nothing_and_stays_with_its_memory() -> None:
    recording = placeto.record(functional(lambda x: x.t()[:2].exp()), torch.zeros(4, 8))
    check(recording)
    assert node(recording, "t")["buffers"] == [["x", 0]]
    assert node(recording, "slice")["buffers"] == [["t", 0]]
    assert [node(recording, name)[key] for name in ("t", "slice") for key in ("flops", "bytes_accessed")] == [0] * 4
    assert node(recording, "exp")["bytes_accessed"] == 2 * 2 * 4 * 4
    assert node(recording, "exp")["buffers"] == ["step"], "the model returns it"


def test_an_expanded_tensor_is_read_once() -> None:
    recording = placeto.record(functional(lambda x: x.expand(100, 8) * 2), torch.zeros(1, 8))
    assert node(recording, "mul")["bytes_accessed"] == 8 * 4 + 800 * 4


def test_an_embedding_reads_the_rows_that_it_gives() -> None:
    recording = placeto.record(nn.Embedding(1000, 8), torch.zeros(3, dtype=torch.long))
    assert node(recording, "embedding")["bytes_accessed"] == 3 * 8 + 2 * 3 * 8 * 4


def test_who_reads_after_a_write_reads_what_was_written() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        view = y[0]
        before = view.exp()
        y.add_(1)
        return view.sin() + before

    recording = placeto.record(functional(forward), torch.zeros(4, 8))
    check(recording)
    assert node(recording, "add")["buffers"] == [["mul", 0]]
    assert {("mul", "add", 0), ("exp", "add", None), ("add", "sin", 0)} <= edges(recording)
    assert ("select", "sin", 0) not in edges(recording)


def test_a_write_into_a_part_is_a_write_into_the_whole() -> None:
    def forward(x: Tensor) -> Tensor:
        cache = torch.zeros(10, 8)
        cache[2:6] = x
        return cache.sum()

    recording = placeto.record(functional(forward), torch.zeros(4, 8))
    check(recording)
    assert {("slice", "copy", 0), ("copy", "sum", 0), ("x", "copy", 0)} <= edges(recording)


def test_an_op_that_writes_and_gives_nothing_of_it_has_an_output_for_it() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x.exp()
        torch._foreach_add_([y], 1.0)
        return y.sin()

    recording = placeto.record(functional(forward), torch.zeros(4))
    check(recording)
    assert node(recording, "_foreach_add")["buffers"] == [["exp", 0]]
    assert ("_foreach_add", "sin", 0) in edges(recording)


def test_without_an_optimizer_gradients_stay() -> None:
    recording = placeto.record(nn.Linear(8, 4), torch.zeros(2, 8), loss=models.total)
    check(recording)
    kept = sum(node.get("persistent_bytes", 0) for node in recording.nodes if node.get("phase") == "backward")
    assert kept == 4 * (8 * 4 + 4)


def test_the_model_is_as_it_was() -> None:
    model = models.Convolutions()
    model.note = "mine"  # type: ignore[assignment]
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    identities = [id(tensor) for tensor in (*model.parameters(), *model.buffers())]
    attributes = [dict(module.__dict__) for module in model.modules()]
    placeto.record(model, torch.zeros(4, 3, 8, 8), loss=models.total, optimizer=torch.optim.AdamW)
    assert [id(tensor) for tensor in (*model.parameters(), *model.buffers())] == identities
    assert [dict(module.__dict__) for module in model.modules()] == attributes
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert model(torch.zeros(1, 3, 8, 8)).shape == (1, 10)


def test_a_model_that_remembers_does_not_remember_the_recording() -> None:
    class Remembers(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            self.latest = x * 2
            return self.latest

    model = Remembers()
    placeto.record(model, torch.zeros(3))
    assert "latest" not in model.__dict__


def gpt() -> nn.Module:
    none = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "bos_token_id": 0, "eos_token_id": 0}
    return GPT2LMHeadModel(GPT2Config(n_embd=64, n_layer=3, n_head=4, vocab_size=500, **none))


def vit() -> nn.Module:
    return ViTForImageClassification(ViTConfig(**SIZES, image_size=64))


def bert() -> nn.Module:
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "pad_token_id": 0}
    return BertForMaskedLM(BertConfig(**SIZES, vocab_size=500, **none))


def llama() -> nn.Module:
    return LlamaForCausalLM(LlamaConfig(**SIZES, vocab_size=500, num_key_value_heads=2))


SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
WORDS = torch.zeros(4, 64, dtype=torch.long)
REAL: dict[str, tuple[Callable[[], nn.Module], Any]] = {
    "residual blocks": (lambda: models.Residuals(64, 4), torch.zeros(512, 64)),
    "checkpointed": (lambda: models.Residuals(64, 4, "plain"), torch.zeros(512, 64)),
    "convolutions": (models.Convolutions, torch.zeros(16, 3, 32, 32)),
    "LSTM cells": (models.Cells, torch.zeros(20, 64, 32)),
    "DLRM": (models.Dlrm, (torch.zeros(256, 13), torch.zeros(256, 4, 3, dtype=torch.long))),
    "LoRA": (models.Lora, torch.zeros(1024, 64)),
    "tied": (models.Tied, torch.zeros(64, 20, dtype=torch.long)),
    "GPT-2": (gpt, {"input_ids": WORDS, "labels": WORDS}),
    "ViT": (vit, torch.zeros(32, 3, 64, 64)),
    "BERT": (bert, WORDS),
    "Llama": (llama, {"input_ids": WORDS, "labels": WORDS}),
}


def loss_of(out: Any) -> Tensor:
    if isinstance(out, Tensor):
        return models.total(out)
    return models.total(out.logits) if out.loss is None else out.loss


@pytest.mark.parametrize("name", REAL)
def test_the_peak_is_that_of_a_step_that_is_run(name: str) -> None:
    build, inputs = REAL[name]
    model = build()
    recording = placeto.record(model, inputs, loss=loss_of, optimizer=torch.optim.AdamW)
    check(recording)
    measured = measured_peak(model, inputs)
    assert peak_bytes(recording) == pytest.approx(measured, rel=0.1)
    assert simulated_peak(recording) == pytest.approx(measured, rel=0.1)


def simulated_peak(recording: placeto.Recording) -> int:
    """What the engine reads of a recording, on one device, where each op starts when it can."""
    found = parsed(json.dumps(recording.to_json()).encode())
    simulator = Simulator(found.graph, found.costs, parse_cluster("1xA100"))
    return int(simulator.timeline(np.zeros(len(recording.nodes), dtype=np.int32)).peak_bytes[0])


def test_a_checkpointed_block_is_recorded_again_when_the_backward_pass_is_there() -> None:
    """Its inputs are there from the start: nothing else would make it wait."""
    inputs = torch.zeros(512, 64)
    kept, again = (
        placeto.record(models.Residuals(64, 6, way), inputs, loss=models.total, optimizer=torch.optim.SGD)
        for way in ("no", "plain")
    )
    assert simulated_peak(again) < 0.6 * simulated_peak(kept)
    waiting = {edge["target"] for edge in again.edges if edge["output"] is None}
    assert {f"blocks/{number}/up/backward_addmm" for number in range(6)} <= waiting


def test_a_second_pass_starts_when_the_first_has_ended() -> None:
    model, inputs = models.Residuals(64, 6), torch.zeros(512, 64)
    once, twice = (
        placeto.record(model, inputs, loss=models.total, optimizer=torch.optim.SGD, accumulate=count)
        for count in (1, 2)
    )
    gradients = 4 * twice.parameters
    assert simulated_peak(twice) <= simulated_peak(once) + gradients


def measured_peak(model: nn.Module, inputs: Any) -> int:
    """What is held before a step, and the most that PyTorch's allocator adds during it."""
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    run_step(model, inputs, optimizer)
    state = [value for values in optimizer.state.values() for value in values.values()]
    held = {
        id(tensor): tensor for tensor in (*model.parameters(), *model.buffers(), *state, *pytree.tree_leaves(inputs))
    }
    live = most = sum(tensor.untyped_storage().nbytes() for tensor in held.values())
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as measured:
        run_step(model, inputs, optimizer)
    events = [event for event in measured.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        most = max(most, live)
    return most


def run_step(model: nn.Module, inputs: Any, optimizer: torch.optim.Optimizer) -> None:
    values = inputs if isinstance(inputs, (tuple, dict)) else (inputs,)
    loss_of(model(**values) if isinstance(values, dict) else model(*values)).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    optimizer.zero_grad()
