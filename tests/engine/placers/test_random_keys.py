"""Random keys: decoding, crossover and generations, and the search on a toy."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import Json
from engine.placers.brkga import GenerationShares, Proposals, decoded, newcomers, next_generation, offspring
from engine.placers.brkga import uniform_proposals as uniform
from engine.placers.registry import make_placer
from tests.engine.placeto.problems import two_chains


def test_a_group_goes_to_its_highest_allowed_key() -> None:
    allowed = np.array([[True, True, True], [False, True, True], [False, False, True]])
    keys = np.array([[[0.1, 0.9, 0.3], [0.9, 0.2, 0.4], [0.9, 0.8, 0.0]]])
    assert decoded(keys, allowed).tolist() == [[1, 2, 2]]


def test_uniform_proposals_place_uniformly() -> None:
    keys = newcomers(uniform(3, 4, 0.7), 20_000, np.random.default_rng(0))
    assert ((keys >= 0) & (keys <= 1)).all()
    assert np.allclose(keys.mean(axis=0), 0.5, atol=0.015) and np.allclose(keys.var(axis=0), 1 / 12, atol=0.003)
    placements = decoded(keys, np.ones((3, 4), dtype=bool))
    assert np.allclose(np.eye(4)[placements].mean(axis=0), 0.25, atol=0.02)


def test_newcomers_have_the_moments_of_their_beta_distributions() -> None:
    alpha, beta = np.array([[2.0, 5.0]]), np.array([[6.0, 1.0]])
    keys = newcomers(Proposals(alpha, beta, np.array([0.5])), 20_000, np.random.default_rng(0))
    mean = alpha / (alpha + beta)
    assert np.allclose(keys.mean(axis=0), mean, atol=0.01)
    assert np.allclose(keys.var(axis=0), mean * (1 - mean) / (alpha + beta + 1), atol=0.003)


def test_children_take_the_elite_bias_of_their_keys_from_the_elite() -> None:
    elite, others = np.ones((3, 4, 2)), np.zeros((5, 4, 2))
    bias = np.array([0.0, 0.3, 0.7, 1.0])
    children = offspring(elite, others, bias, 20_000, np.random.default_rng(0))
    assert np.allclose(children.mean(axis=0), bias[:, None], atol=0.015)


def test_every_parent_has_its_turn() -> None:
    elite = np.arange(3.0)[:, None, None] * np.ones((3, 1, 1))
    others = 10 + np.arange(5.0)[:, None, None] * np.ones((5, 1, 1))
    children = offspring(elite, others, np.array([0.5]), 500, np.random.default_rng(0))
    assert set(np.unique(children)) == {0.0, 1.0, 2.0, 10.0, 11.0, 12.0, 13.0, 14.0}


def test_a_generation_is_mutants_then_children() -> None:
    """Children of keys above 2 can be told from mutants, which are at most 1."""
    keys: NDArray[np.float64] = 2.0 + np.random.default_rng(0).random((10, 3, 2))
    born = next_generation(keys, uniform(3, 2, 0.7), GenerationShares(10, 2, 3), np.random.default_rng(1))
    assert born.shape == (8, 3, 2)
    assert (born[:3] <= 1).all() and (born[3:] >= 2).all()
    for child in born[3:]:
        assert any(np.isin(child, [elite, other]).all() for elite in keys[:2] for other in keys[2:])


@pytest.mark.parametrize("seed", range(3))
def test_brkga_separates_two_chains(seed: int) -> None:
    problem = two_chains(length=3, evaluations=1000)
    make_placer("brkga", {}).place(problem, np.random.default_rng(seed), lambda: False)
    placement = problem.ledger.answer()
    assert len(set(placement[::2])) == len(set(placement[1::2])) == 1 and placement[0] != placement[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population": 3}, "brkga population: 3; allowed: an integer from 4 to 100000"),
        ({"elite_bias": 1.5}, "brkga elite_bias: 1.5; allowed: a number from 0 to 1"),
        (
            {"population": 10, "elite_share": 0.5, "mutant_share": 0.5},
            "brkga elite_share, mutant_share: 5 elite and 5 mutants leave no room in a population of 10;"
            " allowed: together less than 1",
        ),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Json], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_placer("brkga", settings)
    assert str(caught.value) == message
