"""The stacks of layers that are run: residual blocks and convolutions of unequal sizes, with inputs and loss."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

LEARNING_RATE = 1e-4
SEED = 0


class HiddenBlock(nn.Module):
    """Adds to its input what a hidden layer makes of it."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        added: Tensor = self.down(functional.gelu(self.up(self.norm(x))))
        return x + added


class Convolution(nn.Module):
    """A convolution of 3 × 3 that may halve the image."""

    def __init__(self, before: int, channels: int, stride: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(before, channels, 3, stride=stride, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.convolution(x))


class Head(nn.Module):
    """One number a sample."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.linear(x.mean(dim=(2, 3)) if x.dim() == 4 else x)
        return found


class Stack(nn.Module):
    """Layers one after the other."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


@dataclass(frozen=True, slots=True)
class Tower:
    """A stack by what decides it."""

    name: str
    layers: Callable[[], list[nn.Module]]
    input_shape: tuple[int, ...]
    """[samples of a micro-batch, ...]"""

    def model(self) -> nn.Module:
        """The same weights in every process."""
        torch.manual_seed(SEED)
        return Stack(self.layers())

    def batch(self, micro_batches: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of a whole batch."""
        generator = torch.Generator().manual_seed(SEED)
        samples, *rest = self.input_shape
        inputs = torch.randn(micro_batches * samples, *rest, generator=generator)
        return inputs, torch.randn(micro_batches * samples, 1, generator=generator)


def loss_of(output: Tensor, target: Tensor) -> Tensor:
    return functional.mse_loss(output, target)


def optimizer_of(parameters: object) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=LEARNING_RATE, momentum=0.9)  # type: ignore[arg-type]  # torch's own type of them


HIDDEN = (1024, 768, 128, 1024, 64, 256, 128, 512, 64, 128, 256, 64, 640, 128, 64)
WIDTH, ROWS = 256, 128


def blocks() -> list[nn.Module]:
    """Residual blocks of one width, whose transfers are all alike."""
    return [*(HiddenBlock(WIDTH, hidden) for hidden in HIDDEN), Head(WIDTH)]


SLIM, LONG, SLIM_ROWS = (96, 8, 64, 8, 8, 32, 8, 64, 8, 16, 96, 8), 1024, 256


def adapters() -> list[nn.Module]:
    """Wide blocks with slim hidden layers, whose transfers weigh."""
    return [*(HiddenBlock(LONG, hidden) for hidden in SLIM), Head(LONG)]


CHANNELS = ((16, 1), (16, 1), (32, 2), (32, 1), (32, 1), (64, 2), (64, 1), (64, 1), (96, 2), (96, 1), (96, 1), (128, 1))
"""(channels, stride)"""
IMAGES, SIDE = 4, 64


def convolutions() -> list[nn.Module]:
    """A pyramid of convolutions: the earlier the cut, the larger the transfer."""
    before = [3, *(channels for channels, _ in CHANNELS)]
    found: list[nn.Module] = [
        Convolution(earlier, channels, stride) for earlier, (channels, stride) in zip(before, CHANNELS, strict=False)
    ]
    return [*found, Head(CHANNELS[-1][0])]


UNEQUAL, MIDDLE = (2048, 1024, 1536, 768, 2048, 1536, 1024, 2304), 384
SMALL, LARGE = "unequal_32", "unequal_64"
SMALL_ROWS, LARGE_ROWS = 32, 64


def unequal_blocks() -> list[nn.Module]:
    """Few wide blocks, whose ops take a millisecond: what a plan's replicas train (real_plans), at two batches."""
    return [*(HiddenBlock(MIDDLE, hidden) for hidden in UNEQUAL), Head(MIDDLE)]


TOWERS: Mapping[str, Tower] = {
    tower.name: tower
    for tower in (
        Tower("blocks", blocks, (ROWS, WIDTH)),
        Tower("adapters", adapters, (SLIM_ROWS, LONG)),
        Tower("convolutions", convolutions, (IMAGES, 3, SIDE, SIDE)),
        Tower(SMALL, unequal_blocks, (SMALL_ROWS, MIDDLE)),
        Tower(LARGE, unequal_blocks, (LARGE_ROWS, MIDDLE)),
    )
}
