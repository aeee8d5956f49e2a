"""Small models, one for each way of building a network that the recorder must follow."""

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


class Residual(nn.Module):
    """A block whose own op adds its input to what its children made of it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(torch.relu(self.up(x)))


class Residuals(nn.Module):
    """A chain of such blocks, each recorded again in the backward pass where it is checkpointed."""

    def __init__(self, width: int = 32, count: int = 3, checkpointed: str = "no") -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Residual(width) for _ in range(count))
        self.head = nn.Linear(width, 8)
        self.checkpointed = checkpointed

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            if self.checkpointed == "no":
                x = block(x)
            else:
                x = checkpoint(block, x, use_reentrant=self.checkpointed == "reentrant")
        return self.head(x)


class Tied(nn.Module):
    """Words in and out by one table."""

    def __init__(self, words: int = 50, width: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.middle = nn.Linear(width, width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.middle(self.embedding(words)))


class Lora(nn.Module):
    """A frozen layer beside two thin ones that are trained."""

    def __init__(self, width: int = 64, rank: int = 4) -> None:
        super().__init__()
        self.frozen = nn.Linear(width, width, bias=False).requires_grad_(False)
        self.a = nn.Linear(width, rank, bias=False)
        self.b = nn.Linear(rank, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.frozen(x) + self.b(self.a(x))


class Recurrent(nn.Module):
    """Two layers of LSTM and a head."""

    def __init__(self, width: int = 32, hidden: int = 64) -> None:
        super().__init__()
        self.layers = nn.LSTM(width, hidden, num_layers=2)
        self.head = nn.Linear(hidden, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(x)[0])


class Cells(nn.Module):
    """An LSTM that is unrolled step by step."""

    def __init__(self, width: int = 32, hidden: int = 64) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(width, hidden)
        self.head = nn.Linear(hidden, 10)
        self.hidden = hidden

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(x.shape[1], self.hidden), x.new_zeros(x.shape[1], self.hidden)
        for step in x:
            state = self.cell(step, state)
        return self.head(state[0])


class WaveNet(nn.Module):
    """Dilated causal convolutions with gates, whose skips are summed."""

    def __init__(self, channels: int = 16, layers: int = 4) -> None:
        super().__init__()
        self.entry = nn.Conv1d(1, channels, 1)
        self.gates = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 2, dilation=2**k) for k in range(layers))
        self.outs = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(layers))
        self.exit = nn.Conv1d(channels, 256, 1)

    def forward(self, wave: Tensor) -> Tensor:
        x = self.entry(wave)
        skips = torch.zeros_like(x)
        for number, (gate, out) in enumerate(zip(self.gates, self.outs, strict=True)):
            filtered, opened = gate(functional.pad(x, (2**number, 0))).chunk(2, dim=1)
            y = out(torch.tanh(filtered) * torch.sigmoid(opened))
            skips = skips + y
            x = x + y
        return self.exit(torch.relu(skips))


class Dlrm(nn.Module):
    """Dense and looked-up features, multiplied with each other."""

    def __init__(self, tables: int = 4, rows: int = 100, width: int = 16) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, width))
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense: Tensor, indices: Tensor) -> Tensor:
        rows = (table(indices[:, number]) for number, table in enumerate(self.tables))
        features = torch.stack([self.bottom(dense), *rows], dim=1)
        return self.top(torch.cat([features[:, 0], self.products(features)], dim=1))

    @staticmethod
    def products(features: Tensor) -> Tensor:
        """Of each feature with each one before it."""
        i, j = torch.tril_indices(features.shape[1], features.shape[1], offset=-1)
        return torch.bmm(features, features.transpose(1, 2))[:, i, j]


class GraphNetwork(nn.Module):
    """Two rounds of messages along the edges of a graph."""

    def __init__(self, width: int = 16, hidden: int = 32) -> None:
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.second = nn.Linear(hidden, 8)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        for layer in (self.first, self.second):
            x = self.sums(layer(x), edges)
        return x

    @staticmethod
    def sums(messages: Tensor, edges: Tensor) -> Tensor:
        """Of the messages that reach each node."""
        return torch.zeros_like(messages).index_add(0, edges[1], messages[edges[0]])


class UNet(nn.Module):
    """Down and up again with a skip; a step of a diffusion adds its embedding in the middle, and attends there."""

    def __init__(self, channels: int = 8, attends: bool = False) -> None:
        super().__init__()
        self.entry = nn.Conv2d(3, channels, 3, padding=1)
        self.down = nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1)
        self.time = nn.Linear(16, 2 * channels)
        self.attention = nn.MultiheadAttention(2 * channels, 2, batch_first=True) if attends else None
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, stride=2)
        self.exit = nn.Conv2d(2 * channels, 3, 3, padding=1)
        self.norm = nn.GroupNorm(2, 2 * channels)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        skip = self.entry(x)
        y = self.norm(self.middle(torch.relu(self.down(skip)))) + self.time(time)[:, :, None, None]
        if self.attention is not None:
            flat = y.flatten(2).transpose(1, 2)
            y = (flat + self.attention(flat, flat, flat, need_weights=False)[0]).transpose(1, 2).reshape(y.shape)
        return self.exit(torch.cat([skip, self.up(y)], dim=1))


class Doubled(torch.autograd.Function):
    """A function with a backward pass of its own."""

    @staticmethod
    def forward(_context: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        return x.sin() * 2

    @staticmethod
    def backward(_context: torch.autograd.function.FunctionCtx, gradient: Tensor) -> Tensor:
        return gradient.cos()


class WithOwnGradient(nn.Module):
    """Uses that function between two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.doubled = _Double()
        self.last = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.doubled(self.first(x)))


class _Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        doubled: Tensor = Doubled.apply(x)  # type: ignore[no-untyped-call]
        return doubled


class Convolutions(nn.Module):
    """Convolutions with batch normalisation, pooling and a head."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(channels, 2 * channels, 3, padding=1, groups=2, bias=False),
            nn.BatchNorm2d(2 * channels),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(2 * channels, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).flatten(1))


def total(out: Tensor) -> Tensor:
    """A loss of any output."""
    return functional.log_softmax(out.float(), dim=-1).mean()
