"""The passes of a trained policy over a problem, evaluated: where a placer with a policy begins."""

import importlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.policies.proposals import proposals
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import PlacementProblem
from engine.simulator import Evaluations

SAMPLED_PASSES = 16
"""beside the greedy pass, as far as the budget goes"""


@dataclass(frozen=True, slots=True)
class Passes:
    """What a policy proposed, and what that is worth."""

    placements: NDArray[np.int32]
    """[passes, groups] the greedy one first"""
    evaluations: Evaluations
    """[passes]"""


def load_network() -> None:
    """Load torch, once a process: seconds that are not to count where a pass takes hundredths."""
    importlib.import_module("engine.placeto.training")


def evaluate_passes(policy: TrainedPolicy, problem: PlacementProblem, rng: np.random.Generator) -> Passes:
    """Evaluate the greedy pass, then the sampled ones, each an episode; at least one evaluation is left."""
    samples = min(SAMPLED_PASSES, problem.ledger.remaining - 1)
    placements = proposals(policy, problem, rng, samples)
    evaluations = problem.evaluate_episodes(placements, emit_all=True)
    return Passes(placements, evaluations)
