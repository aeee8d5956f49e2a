"""Evaluates a trained policy's passes over a problem, with which a placer that has a policy begins."""

import importlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.placeto.seeing.features import GroupGraph, group_graph
from engine.policies.proposals import proposals
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.traits import Beyond, beyond, traits_of
from engine.problem import Budget, PlacementProblem
from engine.search.levels import level_of_methods
from engine.simulator import Evaluations

SAMPLED_PASSES = 16
"""sampled passes beside the greedy one, as far as the budget allows"""


@dataclass(frozen=True, slots=True)
class Passes:
    """The placements that a policy proposed, and their evaluations."""

    placements: NDArray[np.int32]
    """[passes, groups] the greedy one first"""
    evaluations: Evaluations
    """[passes]"""


def load_network() -> None:
    """Load torch once a process, so that its seconds do not count in the time of a pass, which takes hundredths."""
    importlib.import_module("engine.placeto.training")


def evaluate_passes(
    policy: TrainedPolicy, problem: PlacementProblem, rng: np.random.Generator, graph: GroupGraph | None = None
) -> Passes:
    """Evaluate the greedy pass, then sampled ones, each as an episode. The budget has at least one evaluation left.

    `graph` is that of `problem`, where it has been made already.
    """
    samples = min(SAMPLED_PASSES, problem.ledger.remaining - 1)
    placements = proposals(policy, problem, rng, samples, graph)
    evaluations = problem.evaluate_episodes(placements, emit_all=True)
    return Passes(placements, evaluations)


def beyond_training(policy: TrainedPolicy, problem: PlacementProblem) -> list[Beyond]:
    """The traits of `problem` outside of the training of `policy`, at the level that it places; the furthest first."""
    if not policy.card.ranges:
        return []
    placed = problem.with_budget(Budget(1)).sub_problem(level_of_methods(problem))  # the run may have spent its own
    return beyond(policy.card.ranges, traits_of(group_graph(placed)))
