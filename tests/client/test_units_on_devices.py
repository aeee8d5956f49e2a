"""The units are right: put on devices at random, a model runs, forward and backward, with what `placeto.apply` moves.

The devices are pretended: PyTorch's fake tensors carry any device, and an op on tensors of two devices is an error, as
it is where the devices are there. A unit that is too small would meet such an op.
"""

import random
from collections.abc import Callable
from typing import Any

import placeto
import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    SwinConfig,
    SwinForImageClassification,
    T5Config,
    T5ForConditionalGeneration,
)

from tests.client import models

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 100,
}
WORDS = torch.zeros(2, 16, dtype=torch.long)
MODELS: dict[str, tuple[Callable[[], nn.Module], Any]] = {
    "residual blocks": (models.Residuals, torch.zeros(4, 32)),
    "tied": (models.Tied, WORDS),
    "LoRA": (models.Lora, torch.zeros(4, 64)),
    "LSTM": (models.Recurrent, torch.zeros(5, 2, 32)),
    "WaveNet": (models.WaveNet, torch.zeros(2, 1, 50)),
    "DLRM": (models.Dlrm, (torch.zeros(8, 13), torch.zeros(8, 4, 3, dtype=torch.long))),
    "graph network": (models.GraphNetwork, (torch.zeros(40, 16), torch.zeros(2, 90, dtype=torch.long))),
    "diffusion U-Net": (lambda: models.UNet(attends=True), (torch.zeros(2, 3, 16, 16), torch.zeros(2, 16))),
    "convolutions": (models.Convolutions, torch.zeros(2, 3, 16, 16)),
    "own gradient": (models.WithOwnGradient, torch.zeros(2, 8)),
    "GPT-2": (
        lambda: GPT2LMHeadModel(GPT2Config(n_embd=64, n_layer=3, n_head=4, vocab_size=100, use_cache=False)),
        WORDS,
    ),
    "BERT": (lambda: BertModel(BertConfig(**SIZES)), WORDS),
    "Llama": (lambda: LlamaForCausalLM(LlamaConfig(**SIZES, use_cache=False)), WORDS),
    "T5": (
        lambda: T5ForConditionalGeneration(
            T5Config(vocab_size=100, d_model=64, d_kv=16, d_ff=128, num_layers=2, use_cache=False)
        ),
        {"input_ids": WORDS, "decoder_input_ids": WORDS},
    ),
    "Swin": (
        lambda: SwinForImageClassification(SwinConfig(image_size=56, embed_dim=12, depths=[2, 2], num_heads=[2, 4])),
        torch.zeros(2, 3, 56, 56),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_units_at_random_on_two_devices(name: str) -> None:
    build, inputs = MODELS[name]
    recording = placeto.record(build().eval(), inputs, loss=loss_of, no_split=())
    units = sorted({node["colocation"] for node in recording.nodes if "colocation" in node})
    rng = random.Random(name)
    for _ in range(3):
        devices = {unit: rng.choice(("cpu:0", "cpu:1")) for unit in units}
        run_on(build, inputs, placement_of(recording, devices))


def test_a_unit_that_is_cut_meets_an_op_on_two_devices() -> None:
    build, inputs = MODELS["residual blocks"]
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        run_on(build, inputs, {"": "cpu:0", "blocks.1.down": "cpu:1"})


def placement_of(recording: placeto.Recording, devices: dict[str, str]) -> dict[str, str]:
    """Of each module that has ops of its own, and of each parameter and buffer."""
    placement = {"": devices.get("/", "cpu:0")}
    for node in recording.nodes:
        name = node["id"] if node["type"] in ("parameter", "buffer") else node["id"].rpartition("/")[0]
        if node["type"] not in ("input", "constant") and "colocation" in node and not name.startswith("loss"):
            placement[name.replace("/", ".")] = devices[node["colocation"]]
    return placement


def run_on(build: Callable[[], nn.Module], inputs: Any, placement: dict[str, str]) -> None:
    """Builds, moves, and runs the model on pretended devices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "device_count", lambda: 2)
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            model = placeto.apply(build().eval(), placement)
            given = pytree.tree_map_only(Tensor, mode.from_tensor, inputs)
            values = given if isinstance(given, (tuple, dict)) else (given,)
            loss_of(model(**values) if isinstance(values, dict) else model(*values))


def loss_of(out: Any) -> Tensor:
    if isinstance(out, Tensor):
        return models.total(out)
    return models.total(out.logits if hasattr(out, "logits") else out.pooler_output)
