"""Message passing on graphs drawn by hand, with weights that make the answer one can do by hand."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from engine.placeto.message_passing import DirectedRounds, TwoWayRounds, arriving

# 0 → 1 → 3 and 0 → 2 → 3; 4 stands alone
DIAMOND = torch.tensor([[0, 0, 1, 2], [1, 2, 3, 3]])
VALUES = torch.tensor([[1.0], [10.0], [100.0], [1000.0], [10000.0]])
HAS_PARENT = torch.tensor([0.0, 1.0, 1.0, 1.0, 0.0])


def make_identity(network: nn.Module) -> None:
    """Every linear layer passes its (positive) inputs on."""
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.Linear):
                module.weight.copy_(torch.eye(*module.weight.shape))
                module.bias.zero_()


def rounds(count: int) -> DirectedRounds:
    network = DirectedRounds(1, 1, count)
    make_identity(network)
    return network


def test_no_round_leaves_the_own_features() -> None:
    assert torch.equal(rounds(0)(VALUES, DIAMOND, HAS_PARENT), VALUES)


def test_a_round_adds_the_mean_of_the_parents() -> None:
    expected = [[1.0], [11.0], [101.0], [1055.0], [10000.0]]
    assert rounds(1)(VALUES, DIAMOND, HAS_PARENT).tolist() == expected


def test_two_rounds_reach_the_grandparents_by_each_way() -> None:
    assert rounds(2)(VALUES, DIAMOND, HAS_PARENT)[3].item() == 1000 + ((10 + 1) + (100 + 1)) / 2


def test_a_group_without_parents_drops_the_aggregate() -> None:
    network = rounds(1)
    with torch.no_grad():
        dict(network.update_network.named_parameters())["2.bias"].fill_(7.0)
    out = network(VALUES, DIAMOND, HAS_PARENT)
    assert out[0].item() == 1.0 and out[4].item() == 10000.0 and out[1].item() == 18.0


def test_two_ways_are_parents_then_children() -> None:
    network = TwoWayRounds(1, 1, 1)
    make_identity(network)
    assert network(VALUES, DIAMOND).tolist() == [
        [1.0, 56.0],
        [11.0, 1010.0],
        [101.0, 1100.0],
        [1055.0, 1000.0],
        [10000.0, 10000.0],
    ]


def test_a_batch_between_groups_and_features_changes_nothing() -> None:
    torch.manual_seed(0)
    network = TwoWayRounds(3, 3, 2)
    features = torch.rand(5, 4, 3)
    together = network(features, DIAMOND)
    for row in range(4):
        assert torch.allclose(together[:, row], network(features[:, row], DIAMOND), atol=1e-6)


def test_the_gradient_is_that_of_the_formula() -> None:
    torch.manual_seed(1)
    network = DirectedRounds(2, 2, 2).double()
    features = torch.rand(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: network(x, DIAMOND, HAS_PARENT.double()), (features,))


class LibraryLayer(MessagePassing):  # type: ignore[misc]  # torch_geometric is not typed
    """The library's own way; it leaves a file in the temporary folder of each process."""

    def forward(self, messages: Tensor, edges: Tensor) -> Tensor:
        gathered: Tensor = self.propagate(edges, x=messages)
        return gathered

    def message(self, x_j: Tensor) -> Tensor:
        return x_j


@pytest.mark.parametrize("aggregator", ["sum", "mean"])
def test_messages_arrive_to_the_bit_as_in_the_library_s_own_layer(
    aggregator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    layer = LibraryLayer(aggr=aggregator, node_dim=0)
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(0, 30, (2, 90), generator=generator)
    weight, start = (torch.rand(30, 4, 5, generator=generator) for _ in range(2))
    ours, theirs = (start.clone().requires_grad_() for _ in range(2))
    arrived, propagated = arriving(ours, edges, aggregator), layer(theirs, edges)
    assert torch.equal(arrived, propagated)
    for gathered in (arrived, propagated):
        (gathered * weight).sum().backward()
    assert ours.grad is not None and theirs.grad is not None
    assert torch.equal(ours.grad, theirs.grad)


USE_BOTH_NETWORKS = """
import torch
from engine.placeto.message_passing import TwoWayRounds
from engine.placeto.published import BothWays
edges = torch.tensor([[0, 0, 1], [1, 2, 2]])
TwoWayRounds(3, 3, 2)(torch.rand(3, 3), edges)
BothWays(3, 2)(torch.rand(3, 1, 3), edges)
"""


def test_a_process_leaves_nothing_in_the_temporary_folder(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", USE_BOTH_NETWORKS], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []
