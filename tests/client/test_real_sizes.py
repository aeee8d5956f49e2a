"""Architectures of Hugging Face in the sizes that people run: multiply-adds and parameters beside sums by hand.

The models are on the meta device, so that their weights take no memory. What takes part: products of matrices and
convolutions. The backward pass has two products for each of the forward pass, but one for the first layer, whose input
needs no gradient; and attention as one op has five for two, since it makes its scores again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import placeto
import pytest
import torch
import transformers
from placeto import Recording
from torch import Tensor, nn

from tests.client.twin import check


@dataclass(frozen=True)
class Sums:
    """Multiply-adds of one kind each, and parameters."""

    layers: int
    """linear layers, convolutions, products that are ops of their own"""
    attention: int = 0
    """inside of attention as one op"""
    first: int = 0
    """of the layers those whose input needs no gradient"""
    parameters: int = 0

    @property
    def forward(self) -> int:
        return self.layers + self.attention

    @property
    def backward(self) -> int:
        return 2 * self.layers - self.first + self.attention * 5 // 2


def resnet_50() -> Sums:
    first = 112 * 112 * 49 * 3 * 64
    total, parameters, width = first, 49 * 3 * 64 + 2 * 64, 64
    for stage, (depth, out) in enumerate(zip((3, 4, 6, 3), (256, 512, 1024, 2048), strict=True)):
        side, inner = 56 >> stage, out // 4
        for block in range(depth):
            before = side * 2 if stage and not block else side
            total += before**2 * width * inner + side**2 * (9 * inner * inner + inner * out)
            parameters += width * inner + 9 * inner * inner + inner * out + 2 * (2 * inner + out)
            if not block:
                total += side**2 * width * out
                parameters += width * out + 2 * out
            width = out
    return Sums(2 * (total + 2048 * 1000), 0, 2 * first, parameters + 2049 * 1000)


def convnext_tiny() -> Sums:
    first = 56 * 56 * 16 * 3 * 96
    total, parameters, width = first, 48 * 96 + 3 * 96, 96
    for stage, (depth, out) in enumerate(zip((3, 3, 9, 3), (96, 192, 384, 768), strict=True)):
        side = 56 >> stage
        if stage:
            total += side**2 * 4 * width * out
            parameters += 2 * width + 4 * width * out + out
        total += depth * side**2 * (49 * out + 8 * out * out)
        parameters += depth * (50 * out + 2 * out + 8 * out * out + 5 * out + out)
        width = out
    return Sums(2 * (total + 768 * 1000), 0, 2 * first, parameters + 2 * 768 + 769 * 1000)


def encoder(tokens: int, width: int, inner: int, layers: int) -> tuple[int, int, int]:
    """Linear layers, attention, parameters of a stack of layers with biases and two norms."""
    linear = layers * tokens * (4 * width * width + 2 * width * inner)
    attention = layers * 2 * tokens * tokens * width
    parameters = layers * (4 * width * (width + 1) + 2 * width * inner + width + inner + 4 * width)
    return linear, attention, parameters


def vit_base() -> Sums:
    first = 196 * 768 * 768
    linear, attention, parameters = encoder(197, 768, 3072, 12)
    parameters += 769 * 768 + 768 + 197 * 768 + 2 * 768 + 769 * 1000
    return Sums(2 * (first + linear + 768 * 1000), 2 * attention, 2 * first, parameters)


def swin_tiny() -> Sums:
    """Attention within windows of 49 positions, as ops of its own."""
    first = 56 * 56 * 48 * 96
    total, parameters = first, 49 * 96 + 2 * 96
    for stage, (depth, heads) in enumerate(zip((2, 2, 6, 2), (3, 6, 12, 24), strict=True)):
        width, positions = 96 << stage, (56 >> stage) ** 2
        total += depth * positions * (12 * width * width + 2 * 49 * width)
        parameters += depth * (12 * width * width + 13 * width + 169 * heads)
        if stage < 3:
            total += positions // 4 * 8 * width * width
            parameters += 8 * width * width + 8 * width
    return Sums(2 * (total + 768 * 1000), 0, 2 * first, parameters + 2 * 768 + 769 * 1000)


def bert_base() -> Sums:
    linear, attention, parameters = encoder(128, 768, 3072, 12)
    parameters += (30522 + 512 + 2) * 768 + 2 * 768 + 769 * 768
    return Sums(2 * (linear + 768 * 768), 2 * attention, 0, parameters)


def gpt2_small() -> Sums:
    linear, attention, parameters = encoder(512, 768, 3072, 12)
    parameters += (50257 + 1024) * 768 + 2 * 768
    return Sums(2 * (linear + 512 * 768 * 50257), 2 * attention, 0, parameters)


def t5_small() -> Sums:
    """Attention adds learned biases to its scores in self-attention, which is then ops of its own."""
    long, short, width, inner = 128, 64, 512, 2048
    blocks = 6 * (long + short) * (4 * width * width + 2 * width * inner)
    crossing = 6 * (2 * short + 2 * long) * width * width
    scores = 6 * 2 * width * (long * long + short * short)
    head = short * width * 32128
    parameters = 32128 * width + 6 * (4 * width**2 + 2 * width * inner) + 6 * (8 * width**2 + 2 * width * inner)
    parameters += 6 * 2 * width + 6 * 3 * width + 2 * width + 2 * 32 * 8
    return Sums(2 * (blocks + crossing + scores + head), 2 * 6 * 2 * width * long * short, 0, parameters)


def llama_7b() -> Sums:
    tokens, width, inner, layers = 512, 4096, 11008, 32
    linear = layers * tokens * (4 * width * width + 3 * width * inner)
    parameters = layers * (4 * width * width + 3 * width * inner + 2 * width) + width + 2 * 32000 * width
    return Sums(linear + tokens * width * 32000, layers * 2 * tokens * tokens * width, 0, parameters)


def mixtral_8x7b() -> Sums:
    """Two of eight experts a token; eight heads of keys for 32 of queries."""
    tokens, width, inner, layers = 512, 4096, 14336, 32
    attention = 2 * width * width + 2 * width * 1024
    linear = layers * tokens * (attention + 8 * width + 2 * 3 * width * inner)
    parameters = layers * (attention + 8 * width + 8 * 3 * width * inner + 2 * width) + width + 2 * 32000 * width
    return Sums(linear + tokens * width * 32000, layers * 2 * tokens * tokens * width, 0, parameters)


def whisper_tiny() -> Sums:
    frames, words, width, inner, layers = 1500, 64, 384, 1536, 4
    first, second = 3000 * 3 * 80 * width, frames * 3 * width * width
    linear, attention, parameters = encoder(frames, width, inner, layers)
    linear_out, attention_out, parameters_out = encoder(words, width, inner, layers)
    crossing = layers * 2 * (words + frames) * width * width
    attention_across = layers * 2 * words * frames * width
    head = words * width * 51865
    parameters += parameters_out + layers * (4 * width * (width + 1) + 2 * width) - 3 * layers * width
    parameters += (
        3 * 80 * width + 3 * width * width + 2 * width + frames * width + 448 * width + 51865 * width + 4 * width
    )
    layers_sum = first + second + linear + linear_out + crossing + head
    return Sums(layers_sum, attention + attention_out + attention_across, first, parameters)


def words(batch: int, length: int) -> Tensor:
    return torch.zeros(batch, length, dtype=torch.long)


IMAGES = torch.zeros(2, 3, 224, 224)
CASES: dict[str, tuple[Callable[[], nn.Module], Any, Callable[[], Sums]]] = {
    "ResNet-50": (
        lambda: transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000)),
        IMAGES,
        resnet_50,
    ),
    "ConvNeXt-T": (
        lambda: transformers.ConvNextForImageClassification(transformers.ConvNextConfig(num_labels=1000)),
        IMAGES,
        convnext_tiny,
    ),
    "ViT-B": (
        lambda: transformers.ViTForImageClassification(transformers.ViTConfig(num_labels=1000)),
        IMAGES,
        vit_base,
    ),
    "Swin-T": (
        lambda: transformers.SwinForImageClassification(transformers.SwinConfig(num_labels=1000)),
        IMAGES,
        swin_tiny,
    ),
    "BERT-base": (lambda: transformers.BertModel(transformers.BertConfig()), words(2, 128), bert_base),
    "GPT-2": (lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config()), words(2, 512), gpt2_small),
    "T5-small": (
        lambda: transformers.T5ForConditionalGeneration(transformers.T5Config()),
        {"input_ids": words(2, 128), "decoder_input_ids": words(2, 64)},
        t5_small,
    ),
    "Llama-7B": (
        lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig()).to(torch.bfloat16),
        words(1, 512),
        llama_7b,
    ),
    "Mixtral-8x7B": (
        lambda: transformers.MixtralForCausalLM(transformers.MixtralConfig()).to(torch.bfloat16),
        words(1, 512),
        mixtral_8x7b,
    ),
    "Whisper-tiny": (
        lambda: transformers.WhisperForConditionalGeneration(transformers.WhisperConfig()),
        {"input_features": torch.zeros(1, 80, 3000), "decoder_input_ids": words(1, 64)},
        whisper_tiny,
    ),
}


def loss_of(out: Any) -> Tensor:
    return (out.logits if hasattr(out, "logits") else out.pooler_output).float().sum()


@cache
def recorded(name: str) -> Recording:
    build, inputs, _ = CASES[name]
    with torch.device("meta"):
        model = build()
    return placeto.record(model.eval(), inputs, loss=loss_of)


@pytest.mark.parametrize("name", CASES)
def test_products_of_both_passes_and_parameters(name: str) -> None:
    recording, sums = recorded(name), CASES[name][2]()
    assert recording.parameters == sums.parameters
    assert recording.flops("forward", products=True) == pytest.approx(2 * sums.forward, rel=0.001)
    assert recording.flops("backward", products=True) == pytest.approx(2 * sums.backward, rel=0.01)
    assert recording.without_formula == {}


@pytest.mark.parametrize("name", CASES)
def test_it_is_a_graph(name: str) -> None:
    check(recorded(name))
