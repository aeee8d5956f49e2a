"""A bidirectional LSTM reads a sequence; an LSTM with content attention decides a device for each of its places.

Source: Mirhoseini et al. 2017, section 3.2, and the authors' public code (additive attention on linearly transformed
encodings; scores = tanh(score / temperature) · constant; noise on the scores). Deviations of both presets: each gate of
an LSTM has a learned bias of its own, which begins at 1 for the forget gate (the public code learns only a bias of the
forget gate); the scores' weights begin a tenth as large as Glorot's, so that the first choices are nearly uniform.

The inputs describe each group by the types of its ops, the bytes of its outputs and its neighbours. They hold no times.

Source: Mirhoseini et al. 2017, section 3.2 (type, output shapes, adjacency), and the public code of 2018 (counts of
types, both directions of the adjacency, rows divided by their greatest number plus 1). Deviation: bytes of the outputs
stand for their shapes, which costs do not hold; their logarithms are used, so that they do not dominate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from engine.placers.sequence.settings import RnnSettings
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.networks.choices import choose, log_probabilities
from engine.problem import PlacementProblem

MOST_OUTPUTS = 5
"""the largest outputs of a group, one number each (the public code: 5 outputs of 5 dimensions)"""


@dataclass(frozen=True, slots=True)
class GroupContents:
    """The features of the groups, which are in topological order."""

    contents: NDArray[np.float32]
    """[groups, types + MOST_OUTPUTS] the number of ops of each type, then log(1 + kB) of the largest outputs as
    shares of the greatest in the graph"""
    adjacency: NDArray[np.float32]
    """[groups, groups] 1 where an edge goes from row to column"""


def group_contents(problem: PlacementProblem, types: Sequence[str] | None = None) -> GroupContents:
    """The features of the groups of `problem`, with all op types in alphabetical order, or only with `types`."""
    grouping, graph, costs = problem.grouping, problem.graph, problem.costs
    groups = problem.group_count
    columns = {name: column for column, name in enumerate(sorted(set(graph.op_types)) if types is None else types)}
    column_of_op = np.array([columns.get(name, len(columns)) for name in graph.op_types])
    counts = np.zeros((groups, len(columns) + 1))
    np.add.at(counts, (grouping.group_of_op, column_of_op), 1.0)
    counts = counts[:, :-1]
    op_of_output = np.repeat(np.arange(graph.op_count), np.diff(costs.output_offset))
    adjacency = np.zeros((groups, groups), dtype=np.float32)
    adjacency[grouping.edge_source, grouping.edge_target] = 1.0
    largest = _largest(grouping.group_of_op[op_of_output], costs.output_bytes, groups)
    sizes = np.log1p(largest / 1e3)
    return GroupContents(np.hstack([counts, sizes / (sizes.max() or 1.0)]).astype(np.float32), adjacency)


def _largest(group_of_output: NDArray[np.int32], output_bytes: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """[groups, MOST_OUTPUTS] bytes of the largest outputs of each group, 0 where it has fewer."""
    order = np.lexsort((-output_bytes, group_of_output))
    group = group_of_output[order]
    rank = np.arange(len(order)) - np.searchsorted(group, group)
    kept = rank < MOST_OUTPUTS
    largest = np.zeros((groups, MOST_OUTPUTS))
    largest[group[kept], rank[kept]] = output_bytes[order][kept]
    return largest


def group_embedding(seen: GroupContents, most_groups: int | None = None) -> NDArray[np.float32]:
    """[groups, 2 · groups + types + MOST_OUTPUTS] each row divided by its greatest number plus 1.

    With `most_groups` the rows are as wide as for that number of groups; the added columns hold 0.
    """
    missing = 0 if most_groups is None else most_groups - len(seen.adjacency)
    assert missing >= 0, "more groups than the network reads"
    padding = ((0, 0), (0, missing))
    rows = np.hstack([np.pad(seen.adjacency, padding), np.pad(seen.adjacency.T, padding), seen.contents])
    return np.asarray(rows / (rows.max(axis=1, keepdims=True) + 1.0), dtype=np.float32)


_SCORES_GAIN = 0.1
"""gain of the untrained scores, small so that all devices are about equally probable"""
_NUMBERS_A_PART = 2**24
"""most numbers of the attention's hidden layer to keep; with more, they are computed again for the gradient"""


class Encoded(NamedTuple):
    """The encoding of a sequence; episodes with the same sequence share a batch of 1."""

    memory: Tensor
    """[batch, places, width]"""
    last_hidden: Tensor
    """[batch, width]"""
    last_cell: Tensor
    """[batch, width]"""

    def expanded(self, batch: int) -> "Encoded":
        """The same encoding for `batch` episodes."""
        return Encoded(*(tensor.expand(batch, *tensor.shape[1:]) for tensor in self))


class Draws(NamedTuple):
    """The random numbers of a batch, drawn before its choices."""

    uniforms: Tensor
    """[batch, choices] one uniform number for each choice"""
    noise: Tensor | None
    """[batch, choices, options] standard normals, or None for no noise"""


class SequenceNetwork(nn.Module):
    """Decides a device for each place of a sequence [batch, places, features]."""

    def __init__(self, features: int, devices: int, settings: RnnSettings) -> None:
        super().__init__()
        width = settings.hidden_width
        self._settings, self._devices = settings, devices
        self.encoder = nn.LSTM(features, width // 2, bidirectional=True, batch_first=True)
        self.decoder = nn.LSTM(width, width, batch_first=True)
        self.device_embedding = nn.Parameter(torch.empty(devices + 1, width))
        """the last row stands for "no device yet" """
        self.of_memory = nn.Linear(width, width, bias=False)
        self.of_query = nn.Linear(width, width, bias=False)
        self.attention = nn.Linear(width, 1, bias=False)
        self.scores = nn.Linear(2 * width, devices, bias=False)

    def encode(self, inputs: Tensor) -> Encoded:
        """Read `inputs` [batch, places, features]."""
        states, (hidden, cell) = self.encoder(inputs)
        batch = len(inputs)
        return Encoded(
            self.of_memory(states),
            hidden.transpose(0, 1).reshape(batch, -1),
            cell.transpose(0, 1).reshape(batch, -1),
        )

    def attention_weights(self, states: Tensor, memory: Tensor) -> Tensor:
        """[batch, steps, places] the attention of the decoder's `states` [batch, steps, width] to each place."""
        hidden = torch.tanh(self.of_query(states)[:, :, None, :] + memory[:, None, :, :])
        return torch.softmax(self.attention(hidden)[..., 0], dim=-1)

    def sample(
        self,
        encoded: Encoded,
        allowed: Tensor,
        draws: Draws,
        raise_if_over: RaiseIfOver,
        *,
        greedy: bool = False,
        prior_scores: Tensor | None = None,
    ) -> Tensor:
        """[batch, places] devices, decided place by place; `allowed` and the prior's scores are [places, devices].

        With `greedy` the batch's first row takes the most probable devices.
        """
        batch, places = draws.uniforms.shape
        memory, hidden, cell = encoded.expanded(batch)
        device = torch.full((batch,), self._devices, device=memory.device)
        chosen = torch.empty((batch, places), dtype=torch.long, device=memory.device)
        weights = dict(self.decoder.named_parameters())
        gates = [weights[name] for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")]
        for place in range(places):
            raise_if_over()
            hidden, cell = torch.lstm_cell(self.device_embedding[device], (hidden, cell), *gates)
            prior = None if prior_scores is None else prior_scores[place : place + 1]
            scored = self._log_probabilities(
                hidden[:, None], memory, allowed[place : place + 1], _at(draws.noise, place), prior
            )
            device = drawn(scored[:, 0], draws.uniforms[:, place], first_greedy=greedy)
            chosen[:, place] = device
        return chosen

    def log_probability(
        self,
        encoded: Encoded,
        allowed: Tensor,
        noise: Tensor | None,
        chosen: Tensor,
        prior_scores: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """([batch] log-probability of all devices in `chosen` [batch, places], [batch, places] entropies)."""
        memory, hidden, cell = encoded.expanded(len(chosen))
        start = torch.full_like(chosen[:, :1], self._devices)
        before = self.device_embedding[torch.cat([start, chosen[:, :-1]], dim=1)]
        states, _ = self.decoder(before, (hidden[None].contiguous(), cell[None].contiguous()))
        scored = self._log_probabilities(states, memory, allowed, noise, prior_scores)
        return of_chosen(scored, chosen)

    def _log_probabilities(
        self, states: Tensor, memory: Tensor, allowed: Tensor, noise: Tensor | None, prior_scores: Tensor | None
    ) -> Tensor:
        """[batch, steps, devices] log-probabilities from the decoder's `states` [batch, steps, width].

        The prior's scores come after the bound and the noise, which are then as without it.
        """
        context = self._context(states, memory)
        scores = self.scores(torch.cat([states, context], dim=-1)) / self._settings.temperature
        if self._settings.tanh_constant > 0:
            scores = torch.tanh(scores) * self._settings.tanh_constant
        scores = with_noise(scores, noise, self._settings.noise)
        return log_probabilities(scores if prior_scores is None else scores + prior_scores, allowed, 0.0)

    def _context(self, states: Tensor, memory: Tensor) -> Tensor:
        """[batch, steps, width] the attended memory, computed in parts of the steps to bound the kept numbers."""
        steps_a_part = max(1, _NUMBERS_A_PART // memory.numel())
        if states.shape[1] <= steps_a_part:
            return self._attended(states, memory)
        parts = [
            checkpoint(self._attended, part, memory, use_reentrant=False)
            for part in torch.split(states, steps_a_part, dim=1)
        ]
        return torch.cat(parts, dim=1)

    def _attended(self, states: Tensor, memory: Tensor) -> Tensor:
        return self.attention_weights(states, memory) @ memory


def of_chosen(scored: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """([batch] log-probability of all of `chosen` [batch, steps], [batch, steps] entropies), from `scored`."""
    entropy = -(scored.exp() * scored).sum(dim=-1)
    return scored.gather(-1, chosen[..., None])[..., 0].sum(dim=1), entropy


def _at(noise: Tensor | None, place: int) -> Tensor | None:
    return None if noise is None else noise[:, place : place + 1]


def with_noise(scores: Tensor, noise: Tensor | None, deviation: float) -> Tensor:
    """`scores` [batch, steps, options] plus `noise`, scaled by `deviation` root mean squares of a step's scores."""
    if noise is None:
        return scores
    size = scores.detach().square().mean(dim=(0, 2), keepdim=True).sqrt()
    return scores + noise * (deviation * size)


def drawn(logarithms: Tensor, uniforms: Tensor, *, first_greedy: bool = False) -> Tensor:
    """[rows] an option drawn by its log-probability in `logarithms` [rows, options]; never one of probability 0.

    With `first_greedy` the first row takes the most probable option.
    """
    greedy = np.zeros(len(logarithms), dtype=np.bool_)
    greedy[:1] = first_greedy
    options = choose(logarithms.detach().cpu().numpy().astype(np.float64), uniforms.cpu().numpy(), greedy)
    return torch.from_numpy(options.astype(np.int64)).to(logarithms.device)


def initialise(network: nn.Module, rng: np.random.Generator, torch_device: torch.device) -> None:
    """Fill a network made on the `meta` device from `rng`: matrices as Glorot and Bengio 2010, forget biases 1.

    The scores' matrices are smaller, so that the first placements are nearly uniform.
    """
    network.to_empty(device=torch_device)
    for name, parameter in network.named_parameters():
        shape = tuple(parameter.shape)
        if parameter.dim() == 1:
            values = np.zeros(shape, dtype=np.float32)
            if ".bias_ih_" in f".{name}":
                values[shape[0] // 4 : shape[0] // 2] = 1.0
        else:
            gates = 4 if ".weight_" in f".{name}" else 1
            gain = _SCORES_GAIN if name.startswith("scores.") else 1.0
            limit = gain * (6.0 / (shape[0] / gates + shape[1])) ** 0.5
            values = rng.uniform(-limit, limit, shape).astype(np.float32)
        parameter.data.copy_(torch.from_numpy(values))
