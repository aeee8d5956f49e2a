"""The published network and its simpler rivals on graphs drawn by hand, with weights that leave sums done by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from engine.placeto.networks.published import (
    FIXED_FEATURES,
    BothWays,
    PooledSets,
    PublishedNetwork,
    RectifiedRounds,
    SimpleAggregator,
    SimplePartitioner,
    initialise_glorot,
)

# 0 → 1 → 3 and 0 → 2 → 3; 4 stands alone
DIAMOND = torch.tensor([[0, 0, 1, 2], [1, 2, 3, 3]])
VALUES = torch.tensor([[1.0], [10.0], [100.0], [1000.0], [10000.0]])[:, None, :]
PARENTS = [[], [0], [0], [0, 1, 2], []]
CHILDREN = [[1, 2, 3], [3], [3], [], []]
PARALLEL = [[4], [2, 4], [1, 4], [4], [0, 1, 2, 3]]


def make_identity(network: nn.Module) -> None:
    """Every linear layer passes its inputs on, or their first ones."""
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.Linear):
                module.weight.copy_(torch.eye(*module.weight.shape))
                module.bias.zero_()


def sets_of(current: int) -> Tensor:
    """[3, groups, 1] the parents, children and parallel groups of `current` in DIAMOND."""
    sets = torch.zeros(3, 5, 1)
    for index, members in enumerate((PARENTS[current], CHILDREN[current], PARALLEL[current])):
        sets[index, members, 0] = 1.0
    return sets


def rounds(count: int) -> RectifiedRounds:
    network = RectifiedRounds(1, count)
    make_identity(network)
    return network


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, [1.0, 10.0, 100.0, 1000.0, 10000.0]),
        (1, [1.0, 11.0, 101.0, 1110.0, 10000.0]),
        (2, [1.0, 11.0, 101.0, 1112.0, 10000.0]),
        (8, [1.0, 11.0, 101.0, 1112.0, 10000.0]),
    ],
)
def test_rounds_add_the_parents_of_the_parents(count: int, expected: list[float]) -> None:
    assert rounds(count)(VALUES, DIAMOND)[:, 0, 0].tolist() == expected


def test_a_group_without_parents_drops_the_aggregate() -> None:
    network = rounds(1)
    with torch.no_grad():
        dict(network.update_network.named_parameters())["2.bias"].fill_(7.0)
    out = network(VALUES, DIAMOND)[:, 0, 0]
    assert out.tolist() == [1.0, 18.0, 108.0, 1117.0, 10000.0]


def test_messages_and_sums_are_rectified() -> None:
    network = rounds(1)
    negative = VALUES.clone()
    negative[1] = -10.0
    assert network(negative, DIAMOND)[3, 0, 0].item() == 1000.0 + 100.0
    with torch.no_grad():
        dict(network.update_network.named_parameters())["2.bias"].fill_(-1e6)
    assert network(VALUES, DIAMOND)[:, 0, 0].tolist() == VALUES[:, 0, 0].tolist()


def test_both_ways_are_parents_then_children_over_one_transformation() -> None:
    network = BothWays(1, 1)
    make_identity(network)
    assert network(VALUES, DIAMOND)[:, 0].tolist() == [
        [1.0, 111.0],
        [11.0, 1010.0],
        [101.0, 1100.0],
        [1110.0, 1000.0],
        [10000.0, 10000.0],
    ]


@pytest.mark.parametrize("current", range(5))
def test_pooling_sums_parents_children_and_parallel_groups(current: int) -> None:
    network = PooledSets(1, 3)
    make_identity(network)
    expected = [VALUES[members].sum().item() for members in (PARENTS[current], CHILDREN[current], PARALLEL[current])]
    assert network(VALUES, sets_of(current).unbind()).tolist() == [expected]


def features(current: int) -> Tensor:
    """[5, 1, 7] random, the flag of the current group set."""
    drawn = torch.rand(5, 1, FIXED_FEATURES + 2, generator=torch.Generator().manual_seed(0))
    drawn[:, 0, 2] = 0.0
    drawn[current, 0, 2] = 1.0
    return drawn


def without_classifier(network: PublishedNetwork | SimplePartitioner | SimpleAggregator) -> nn.Module:
    """What the classifier would get, from identical layers."""
    make_identity(network)
    network.classifier = nn.Sequential()
    return network


@pytest.mark.parametrize("current", range(5))
def test_the_simple_partitioner_pools_the_features_as_they_are(current: int) -> None:
    network = without_classifier(SimplePartitioner(2))
    given = features(current)
    pooled = [given[members, 0].sum(dim=0) for members in (PARENTS[current], CHILDREN[current], PARALLEL[current])]
    expected = torch.cat([given[current, 0], *pooled])
    assert torch.allclose(network(given, DIAMOND, torch.tensor([current]), sets_of(current))[0], expected)


def test_the_simple_partitioner_passes_no_messages() -> None:
    """Of a parent it makes no difference through whom it is one."""
    network = SimplePartitioner(2)
    given = features(3)
    swapped = given[[1, 0, 2, 3, 4]]
    answers = [network(each, DIAMOND, torch.tensor([3]), sets_of(3)) for each in (given, swapped)]
    assert torch.allclose(answers[0], answers[1], atol=1e-6)


@pytest.mark.parametrize("current", range(5))
def test_the_simple_aggregator_sums_all_groups(current: int) -> None:
    network = without_classifier(SimpleAggregator(2))
    given = features(current)
    answer = network(given, DIAMOND, torch.tensor([current]), sets_of(current))
    assert torch.allclose(answer[0], given[:, 0].sum(dim=0))
    shuffled = network(given[[4, 2, 0, 1, 3]], DIAMOND, torch.tensor([0]), sets_of(0))
    assert torch.allclose(answer, shuffled)


def test_the_published_network_joins_both_ways_and_the_sets() -> None:
    network = without_classifier(PublishedNetwork(2, 1))
    given = features(3)
    embedded = BothWays(7, 1)
    make_identity(embedded)
    states = embedded(given, DIAMOND)[:, 0]
    expected = torch.cat([states[3], states[[0, 1, 2]].sum(dim=0), torch.zeros(14), states[4]])
    assert torch.allclose(network(given, DIAMOND, torch.tensor([3]), sets_of(3))[0], expected)


@pytest.mark.parametrize(("devices", "parameters"), [(2, 15_962), (4, 26_338)])
def test_the_published_network_has_as_many_parameters_as_published(devices: int, parameters: int) -> None:
    """About 16,000 for two devices, 26,000 for four."""
    network = PublishedNetwork(devices, 8)
    assert sum(parameter.numel() for parameter in network.parameters()) == parameters


def test_weights_begin_as_glorot_has_them() -> None:
    with torch.device("meta"):
        network = SimplePartitioner(2)
    initialise_glorot(network, np.random.default_rng(0), torch.device("cpu"))
    first = network.classifier[0]
    assert isinstance(first, nn.Linear)
    limit = (6.0 / (28 + 56)) ** 0.5
    assert 0.95 * limit < first.weight.abs().max().item() <= limit
    assert all(not module.bias.any() for module in network.modules() if isinstance(module, nn.Linear))


def test_the_gradient_is_that_of_the_formula() -> None:
    network = BothWays(2, 2).double()
    given = torch.rand(5, 3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3), requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: network(x, DIAMOND), (given,))
