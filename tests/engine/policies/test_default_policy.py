"""The policy that ships: its file fits this version, its card says what it is, and its answers are those of its day."""

import hashlib
import json

import numpy as np
import pytest

from engine.policies.drawn.problems import drawn_problem
from engine.policies.drawn.shapes import SHAPES
from engine.policies.proposals import proposals
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.traits import TRAITS
from tests.engine.policies.default_answers import FILE, RECORD, SEEDS, answers

MOST_BYTES = 2 * 1024**2
TRAIN_ANEW = "features or network have changed: make a new policy (docs/recipes/release.md)"


def shipped() -> TrainedPolicy:
    return TrainedPolicy.from_bytes(FILE.read_bytes(), FILE.name)


def test_it_is_small_and_its_card_is_whole() -> None:
    card = shipped().card
    assert FILE.stat().st_size <= MOST_BYTES
    assert card.families == ("cifar10", "nmt", "ptb")
    assert card.has_learned and card.drawn > 0
    assert card.ranges.keys() == TRAITS.keys()
    assert card.training["learners"] == 2 and card.training["seconds"] == pytest.approx(card.seconds, rel=0.01)
    assert {row.graph.partition("-")[0] for row in card.held_out} == set(card.families)
    assert {row.cluster for row in card.held_out} == set(card.clusters)


def test_its_answers_are_those_of_the_day_it_was_trained() -> None:
    recorded = json.loads(RECORD.read_text())
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == recorded["sha256"], "record the new policy's answers"
    found = answers(shipped())
    for seed, wanted in recorded["answers"].items():
        np.testing.assert_allclose(np.array(found[seed]), np.array(wanted), atol=1e-3, err_msg=TRAIN_ANEW)
    assert max(np.ptp(np.array(rows)) for rows in found.values()) > 0.9, "it is sure of something"


def test_it_places_better_than_chance() -> None:
    for seed in SEEDS:
        problem, rng = drawn_problem(tuple(SHAPES), np.random.default_rng(seed)).problem, np.random.default_rng(seed)
        greedy = proposals(shipped(), problem, rng, 0)
        drawn = rng.integers(0, problem.device_count, (64, problem.group_count), dtype=np.int32)
        step_time_us = problem.simulator.evaluate(np.concatenate([greedy, drawn])).step_time_us
        assert step_time_us[0] < np.median(step_time_us[1:])
