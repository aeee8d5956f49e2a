"""Message passing on graphs drawn by hand, with weights that make the answer one can do by hand."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from engine.placeto.networks.choices import initialise
from engine.placeto.networks.message_passing import DirectedRounds, TwoWayRounds, arriving, data_of
from engine.placeto.networks.shared_head import Projections, SharedHead
from engine.placeto.seeing.edge_features import EDGE_FEATURES, message_edges
from engine.placeto.seeing.features import group_graph
from tests.engine.placeto.problems import random_problem

# 0 → 1 → 3 and 0 → 2 → 3; 4 stands alone
DIAMOND = torch.tensor([[0, 0, 1, 2], [1, 2, 3, 3]])
VALUES = torch.tensor([[1.0], [10.0], [100.0], [1000.0], [10000.0]])
HAS_PARENT = torch.tensor([0.0, 1.0, 1.0, 1.0, 0.0])
NOTHING_SEEN = torch.zeros(4, EDGE_FEATURES)


def make_identity(network: nn.Module) -> None:
    """Every linear layer passes its (positive) inputs on."""
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.Linear):
                module.weight.copy_(torch.eye(*module.weight.shape))
                if module.bias is not None:
                    module.bias.zero_()


def rounds(count: int) -> DirectedRounds:
    network = DirectedRounds(1, 1, count)
    make_identity(network)
    return network


def test_no_round_leaves_the_own_features() -> None:
    assert torch.equal(rounds(0)(VALUES, DIAMOND, NOTHING_SEEN, HAS_PARENT), VALUES)


def test_a_round_adds_the_mean_of_the_parents() -> None:
    expected = [[1.0], [11.0], [101.0], [1055.0], [10000.0]]
    assert rounds(1)(VALUES, DIAMOND, NOTHING_SEEN, HAS_PARENT).tolist() == expected


def test_two_rounds_reach_the_grandparents_by_each_way() -> None:
    assert rounds(2)(VALUES, DIAMOND, NOTHING_SEEN, HAS_PARENT)[3].item() == 1000 + ((10 + 1) + (100 + 1)) / 2


def test_a_group_without_parents_drops_the_aggregate() -> None:
    network = rounds(1)
    with torch.no_grad():
        dict(network.update_network.named_parameters())["2.bias"].fill_(7.0)
    out = network(VALUES, DIAMOND, NOTHING_SEEN, HAS_PARENT)
    assert out[0].item() == 1.0 and out[4].item() == 10000.0 and out[1].item() == 18.0


def test_two_ways_are_parents_then_children() -> None:
    network = TwoWayRounds(1, 1, 1)
    make_identity(network)
    assert network(Data(x=VALUES, edge_index=DIAMOND, edge_attr=NOTHING_SEEN)).tolist() == [
        [1.0, 56.0],
        [11.0, 1010.0],
        [101.0, 1100.0],
        [1055.0, 1000.0],
        [10000.0, 10000.0],
    ]


def test_a_message_is_what_the_sender_says_and_what_the_edge_shows_together() -> None:
    seen = torch.zeros(4, EDGE_FEATURES)
    seen[:, 0] = torch.tensor([0.5, 2.0, -200.0, 0.0])
    out = rounds(1)(VALUES, DIAMOND, seen, HAS_PARENT)
    assert out.tolist() == [[1.0], [10.0 + 1.5], [100.0 + 3.0], [1000.0 + (0.0 + 100.0) / 2], [10000.0]]


def test_the_gradient_is_that_of_the_formula() -> None:
    torch.manual_seed(1)
    network = DirectedRounds(2, 2, 2)
    initialise(network, np.random.default_rng(1), torch.device("cpu"))
    network = network.double()
    features = torch.rand(5, 2, dtype=torch.float64, requires_grad=True)
    seen = torch.rand(4, EDGE_FEATURES, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, e: network(x, DIAMOND, e, HAS_PARENT.double()), (features, seen))


def slow_sums(messages: Tensor, edges: Tensor, aggregator: str) -> Tensor:
    """The twin: edge by edge."""
    rows = []
    for group in range(len(messages)):
        sent = [messages[source] for source, target in edges.T.tolist() if target == group]
        total = torch.stack(sent).sum(dim=0) if sent else torch.zeros_like(messages[0])
        rows.append(total / len(sent) if sent and aggregator == "mean" else total)
    return torch.stack(rows)


@pytest.mark.parametrize("aggregator", ["sum", "mean"])
def test_messages_arrive_as_in_the_slow_twin(aggregator: str) -> None:
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(0, 30, (2, 90), generator=generator)
    weight, start = (torch.rand(30, 4, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    ours, twin = (start.clone().requires_grad_() for _ in range(2))
    arrived, summed = arriving(ours, edges, aggregator), slow_sums(twin, edges, aggregator)
    assert torch.allclose(arrived, summed, atol=1e-12)
    for gathered in (arrived, summed):
        (gathered * weight).sum().backward()  # type: ignore[no-untyped-call]  # torch's own
    assert ours.grad is not None and twin.grad is not None
    assert torch.allclose(ours.grad, twin.grad, atol=1e-12)


def test_in_a_batch_each_graph_is_embedded_as_if_alone() -> None:
    graphs = [group_graph(random_problem(seed, groups=groups)) for seed, groups in ((1, 5), (2, 9), (3, 2))]
    alone = [data_of(graph, torch.device("cpu")) for graph in graphs]
    network = SharedHead(width=8, hidden=8, rounds=2)
    initialise(network, np.random.default_rng(0), torch.device("cpu"))
    together = network.project(Batch.from_data_list(alone))
    for name in Projections._fields:
        apart = torch.cat([getattr(network.project(data), name) for data in alone])
        assert torch.allclose(getattr(together, name), apart, atol=1e-6), name


def test_feedback_edges_carry_messages_too_and_are_marked() -> None:
    graph = group_graph(random_problem(3, groups=12))
    edges = message_edges(graph)
    onward, back = len(graph.edge_source), len(graph.feedback_source)
    assert edges.ends.shape == (2, onward + back) and edges.features.shape == (onward + back, EDGE_FEATURES)
    assert np.array_equal(edges.ends[:, onward:], np.stack([graph.feedback_source, graph.feedback_target]))
    assert len(set(edges.features[:onward, 2].tolist())) == 1
    assert (edges.features[onward:, 2] > edges.features[0, 2]).all()


USE_BOTH_NETWORKS = """
import torch
from torch_geometric.data import Data
from engine.placeto.seeing.edge_features import EDGE_FEATURES
from engine.placeto.networks.message_passing import TwoWayRounds
from engine.placeto.networks.published import BothWays
edges = torch.tensor([[0, 0, 1], [1, 2, 2]])
TwoWayRounds(3, 3, 2)(Data(x=torch.rand(3, 3), edge_index=edges, edge_attr=torch.rand(3, EDGE_FEATURES)))
BothWays(3, 2)(torch.rand(3, 1, 3), edges)
"""


@pytest.mark.slow
def test_a_process_leaves_nothing_in_the_temporary_folder(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", USE_BOTH_NETWORKS], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []
