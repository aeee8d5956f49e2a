"""Super-groups: dealt out to the sets of allowed devices, embedded from their members, drawn with their probability."""

import numpy as np
import pytest
import torch

from engine.placers.sequence.grouper import HierarchicalModel, dealt_out
from engine.placers.sequence.network import group_contents
from engine.placers.sequence.settings import HierarchicalSettings
from engine.settings.making import make_settings
from tests.engine.placers.small_problems import small_problem


def model_of(noise: float = 0.0) -> HierarchicalModel:
    given = {"hidden_width": 8, "noise": noise, "super_groups": 6, "grouper_gain": 1.0}
    settings = make_settings("hierarchical", HierarchicalSettings, given)
    return HierarchicalModel(small_problem(1, devices=3, pins=True), settings, np.random.default_rng(1))


def test_a_group_joins_those_with_the_same_devices_alone() -> None:
    allowed = np.array([[1, 1, 0]] * 6 + [[0, 0, 1]] * 9 + [[1, 1, 1]] * 3, dtype=bool)
    may_join, of_super_group = dealt_out(allowed, 7)
    assert len(of_super_group) == 7
    assert may_join.any(axis=1).all()
    for group, super_group in np.argwhere(may_join):
        assert np.array_equal(allowed[group], of_super_group[super_group])
    assert may_join.sum(axis=1).tolist() == [4] * 6 + [1] * 9 + [2] * 3


@pytest.mark.parametrize(("wanted", "made"), [(1, 2), (2, 2), (3, 3), (50, 5)])
def test_there_are_as_many_as_wanted_but_for_sets_and_groups(wanted: int, made: int) -> None:
    allowed = np.array([[1, 1]] * 3 + [[0, 1]] * 2, dtype=bool)
    assert len(dealt_out(allowed, wanted)[1]) == made


def test_where_all_is_pinned_each_device_is_one_super_group() -> None:
    may_join, of_super_group = dealt_out(np.eye(3, dtype=bool)[[0, 0, 1, 2]], 20)
    assert of_super_group.sum() == 3 and may_join.sum() == 4


def test_the_embedding_adds_up_the_members() -> None:
    model, seen = model_of(), group_contents(small_problem(1, devices=3, pins=True))
    joined = np.random.default_rng(0).integers(0, len(model._allowed), (2, 7))
    embedded = model.embedding(torch.from_numpy(joined)).numpy()
    for row in range(2):
        count = len(model._allowed)
        slow = np.zeros((count, 2 * count + seen.contents.shape[1]))
        for group in range(7):
            slow[joined[row, group], 2 * count :] += seen.contents[group]
            for other in np.flatnonzero(seen.adjacency[group]):
                slow[joined[row, group], joined[row, other]] += 1
                slow[joined[row, other], count + joined[row, group]] += 1
        assert embedded[row] == pytest.approx(slow / (slow.max(axis=1, keepdims=True) + 1), abs=1e-5)


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_probability_is_that_of_the_groups_times_that_of_the_devices(noise: float) -> None:
    model = model_of(noise)
    sampled = model.sample(5, noise > 0, np.random.default_rng(2), lambda: None)
    joined, devices = sampled.choices
    grouping = model._grouping(5, sampled.noises[0])
    slow = torch.zeros(5)
    for row in range(5):
        for group in range(7):
            slow[row] += grouping[row, group, joined[row, group]].detach()
    sequence = model._hierarchical.sequence
    for row in range(5 if noise == 0.0 else 0):  # noise is scaled by the whole batch
        encoded = sequence.encode(model.embedding(joined[row : row + 1]))
        of_devices, _ = sequence.log_probability(encoded, model._allowed, None, devices[row : row + 1])
        slow[row] += of_devices[0].detach()
    if noise > 0.0:
        encoded = sequence.encode(model.embedding(joined))
        slow += sequence.log_probability(encoded, model._allowed, sampled.noises[1], devices)[0].detach()
    assert torch.allclose(slow, model.log_probability(sampled)[0], atol=1e-4)


def test_both_networks_learn() -> None:
    model = model_of()
    sampled = model.sample(3, False, np.random.default_rng(2), lambda: None)
    model.log_probability(sampled)[0].sum().backward()  # type: ignore[no-untyped-call]  # torch's own
    for name, parameter in model.network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_a_placement_is_the_device_of_the_super_group() -> None:
    model = model_of()
    sampled = model.sample(50, False, np.random.default_rng(2), lambda: None)
    joined, devices = (choice.numpy() for choice in sampled.choices)
    assert np.array_equal(sampled.placements, np.take_along_axis(devices, joined, axis=1))
    assert small_problem(1, devices=3, pins=True).respects(sampled.placements).all()
    assert len(np.unique(joined, axis=0)) > 1
