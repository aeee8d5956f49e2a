"""What is drawn: the same every time, whatever the count; each graph once; a split that does not move."""

import hashlib
import json
from itertools import combinations

import pytest

from engine.errors import SettingsError
from engine.events import Json
from engine.zoo import ZOO
from engine.zoo.cells import SEARCHED_OPERATIONS, convolution_cell, recurrent_cell
from engine.zoo.families import draws
from engine.zoo.families.catalogue import FAMILIES
from engine.zoo.families.members import DEFAULT_COUNT, members

TESTED = [2, 5, 8, 11, 14, 18, 21, 24, 27, 30]
SEEDS = (0, 1, 2**63 - 1)
OF_SEED_0 = {
    "nmt": "a25828c682c6da8e",
    "ptb": "46b12a34ada8e653",
    "cifar10": "8fcbbc0983b4211f",
    "nmt_by_length": "1766499f3e9020cf",
    "nmt_by_form": "cf221fc29505fac8",
}
"""digest of the first 104 members' names, splits and settings: results rest on them, so they never change"""


def settings_of(family: str, seed: int, count: int = DEFAULT_COUNT) -> list[dict[str, Json]]:
    return [dict(member.settings) for member in members(family, seed, count)]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_gives_the_same_graphs_whatever_the_count(family: str) -> None:
    for seed in SEEDS:
        assert members(family, seed, 5) == members(family, seed, 40)[:5]
    assert settings_of(family, 0) != settings_of(family, 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_graph_is_there_twice(family: str) -> None:
    for seed in SEEDS:
        settings = settings_of(family, seed, min(FAMILIES[family].most, 200))
        assert len({str(each) for each in settings}) == len(settings)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_split_is_fixed(family: str) -> None:
    for seed in SEEDS:
        chosen = members(family, seed)
        assert [index for index, member in enumerate(chosen) if member.split == "test"] == TESTED
        assert [member.split for member in chosen].count("train") == 22
        assert len({member.name for member in chosen}) == DEFAULT_COUNT
    assert [members(family)[index].name for index in (0, 31)] == [f"{family}-00", f"{family}-31"]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_members_are_those_of_earlier_results(family: str) -> None:
    drawn = [[member.name, member.split, dict(member.settings)] for member in members(family, 0, 104)]
    digest = hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()
    assert digest.startswith(OF_SEED_0[family])


def test_by_length_no_test_graph_has_a_length_of_training() -> None:
    for seed in SEEDS:
        chosen = members("nmt_by_length", seed, 104)
        lengths = {
            split: {member.settings["steps"] for member in chosen if member.split == split}
            for split in ("train", "test")
        }
        assert lengths["test"] == set(draws.HELD_OUT_STEPS)
        assert lengths["train"] == set(draws.NMT_STEPS) - set(draws.HELD_OUT_STEPS)


def test_by_form_no_test_graph_has_the_form_of_training() -> None:
    for seed in SEEDS:
        usual = members("nmt", seed, 104)
        for member, of_nmt in zip(members("nmt_by_form", seed, 104), usual, strict=True):
            settings = dict(member.settings)
            form = (settings.pop("layers", 2), settings.pop("units", 1024), settings.pop("attention", "additive"))
            assert settings == of_nmt.settings
            assert (form == draws.USUAL_FORM) == (member.split == "train")
    forms = [tuple(member.settings.values())[2:] for member in members("nmt_by_form") if member.split == "test"]
    assert all(one != other for one, other in combinations(forms, 2)), "ten tests of eleven forms"
    assert (
        tuple(getattr(ZOO["nmt"].settings({}), name) for name in ("layers", "units", "attention")) == draws.USUAL_FORM
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_every_member_is_a_setting_of_its_model(family: str) -> None:
    for settings in settings_of(family, 0):
        ZOO[FAMILIES[family].model].settings(settings)


def test_nmt_can_give_every_pair_once() -> None:
    pairs = {(each["steps"], each["batch"]) for each in settings_of("nmt", 3, len(draws.NMT_SETTINGS))}
    assert pairs == {(steps, batch) for steps in draws.NMT_STEPS for batch in draws.NMT_BATCHES}


def test_ptb_draws_from_the_whole_search_space() -> None:
    cells = [recurrent_cell("cell", str(settings["cell"])) for settings in settings_of("ptb", 0, 200)]
    assert all(len(cell) == draws.PTB_NODES for cell in cells)
    taken = [[cell[node].previous for cell in cells] for node in range(draws.PTB_NODES)]
    assert set(taken[0]) == {-1}
    assert all(set(taken[node]) == set(range(node)) for node in range(1, draws.PTB_NODES))
    assert {node.activation for cell in cells for node in cell} == {"identity", "sigmoid", "tanh", "relu"}


def test_cifar10_draws_from_the_whole_search_space() -> None:
    drawn = settings_of("cifar10", 0, 200)
    for field in ("normal", "reduction"):
        cells = [convolution_cell(field, str(settings[field])) for settings in drawn]
        for index in range(draws.CIFAR10_BLOCKS):
            blocks = [cell.blocks[index] for cell in cells]
            states = [state for block in blocks for state in (block.left_state, block.right_state)]
            assert set(states) == set(range(index + 2))
            assert {kind for block in blocks for kind in (block.left, block.right)} == set(SEARCHED_OPERATIONS)
    assert {settings["filters"] for settings in drawn} == set(draws.CIFAR10_FILTERS)


@pytest.mark.parametrize(
    ("family", "seed", "count", "message"),
    [
        ("resnet", 0, 32, "family: no family resnet; allowed: nmt, ptb, cifar10, nmt_by_length, nmt_by_form"),
        ("", 0, 32, "family: no family ; allowed: nmt, ptb, cifar10, nmt_by_length, nmt_by_form"),
        ("nmt", 0, 0, "count: 0 graphs; allowed: an integer from 1 to 104"),
        ("nmt", 0, 105, "count: 105 graphs; allowed: an integer from 1 to 104"),
        ("ptb", 0, -1, "count: -1 graphs; allowed: an integer from 1 to 1000"),
        ("ptb", 0, 1001, "count: 1001 graphs; allowed: an integer from 1 to 1000"),
        ("cifar10", -1, 32, "seed: -1; allowed: an integer from 0 to 9223372036854775807"),
        ("cifar10", 2**63, 32, f"seed: {2**63}; allowed: an integer from 0 to 9223372036854775807"),
    ],
)
def test_what_cannot_be_is_reported(family: str, seed: int, count: int, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        members(family, seed, count)
    assert str(caught.value) == message
