"""Test graphs of further seeds, and the seed that is sealed."""

import ast
from pathlib import Path

import pytest

import experiments
from engine.errors import SettingsError
from engine.events import Json
from engine.zoo.families.catalogue import FAMILIES
from engine.zoo.families.members import members
from experiments.auto_check import worst_runs
from experiments.policies.held_out import (
    DRAWN_ANEW,
    SEALED_DIGEST,
    SEALED_FAMILIES,
    SEALED_SEED,
    digest_of_draw,
    family_and_seed,
    set_named,
    sets_of,
)
from experiments.policies.problems import graphs_of, held_out_names
from experiments.policies.scope import ExperimentScope, make_scope, without_variants


def test_the_sealed_graphs_are_still_those_that_were_sealed() -> None:
    assert digest_of_draw(SEALED_SEED) == SEALED_DIGEST
    assert digest_of_draw(1) != SEALED_DIGEST


def test_no_graph_of_a_further_seed_is_trained_on() -> None:
    for family in SEALED_FAMILIES:
        trained = [member.settings for member in members(family, 0, 32) if member.split == "train"]
        for seed in (1, SEALED_SEED):
            tested = [member.settings for member in members(family, seed) if member.split == "test"]
            assert not [each for each in tested if each in trained]


def test_sets_have_the_seeds_that_their_family_has() -> None:
    names = [name for _, name in sets_of(FAMILIES, (0, 1))]
    assert names == ["nmt", "ptb", "ptb@1", "cifar10", "cifar10@1", "nmt_by_length", "nmt_by_form"]
    assert [name for _, name in sets_of(FAMILIES, (SEALED_SEED,))] == ["ptb@2", "cifar10@2", "nmt_by_length@2"]
    assert DRAWN_ANEW == ("ptb", "cifar10")
    for family, seed in (("ptb", 0), ("ptb", 1), ("nmt_by_length", 12)):
        assert family_and_seed(set_named(family, seed)) == (family, seed)
    assert held_out_names(ExperimentScope(graphs=2), "ptb@1") == ["ptb-02@1", "ptb-05@1"]


@pytest.mark.parametrize("settings", [{"test_seeds": "0,2"}, {"test_seeds": "2", "unseal": False}])
def test_the_sealed_seed_is_refused(settings: dict[str, Json]) -> None:
    with pytest.raises(SettingsError) as caught:
        make_scope(settings)
    assert str(caught.value) == (
        "test_seeds: the test graphs of seed 2 are sealed until the work on policies ends; "
        "allowed: other seeds; this one once, at the end, with unseal=true"
    )
    with pytest.raises(SettingsError, match="sealed"):
        graphs_of(ExperimentScope(), "ptb@2", "test")
    assert make_scope(settings | {"unseal": True}).unseal


def test_variants_of_a_family_are_no_further_family_to_learn_from() -> None:
    assert without_variants({})["families"] == "nmt,ptb,cifar10"
    assert without_variants({"families": "nmt_by_length,ptb"})["families"] == "nmt_by_length,ptb"


def test_no_other_experiment_draws_graphs_of_a_seed_of_its_own_but_by_name() -> None:
    """Whoever gives a seed to these functions is listed here, and gives another one than the sealed seed."""
    seed_is_argument = {"prepared_family": 3, "members": 1, "family_members": 1, "build_family": 3}
    found = set()
    for path in Path(experiments.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(getattr(node, "func", None), "id", getattr(getattr(node, "func", None), "attr", ""))
            if isinstance(node, ast.Call) and name in seed_is_argument:
                has_seed = len(node.args) > seed_is_argument[name] or "seed" in [each.arg for each in node.keywords]
                found |= {path.name} if has_seed else set()
    assert found == {"held_out.py", "problems.py", "worst_runs.py"}
    assert worst_runs.FAMILY_SEED != SEALED_SEED
