"""What the policy that ships answers on three drawn problems.

`python -m tests.engine.policies.default_answers` records it.

The record is made when the policy is trained. If features or network change their meaning, the policy's answers change
too, and its weights are worth nothing.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.explaining.decisions import decisions_of
from engine.placeto.kept_policy import DecidedEpisode, KeptPolicy
from engine.placeto.seeing.features import group_graph
from engine.placeto.seeing.start_times import GroupStartTimes
from engine.policies.drawn.problems import drawn_problem
from engine.policies.drawn.shapes import SHAPES
from engine.policies.trained_policy import TrainedPolicy

ROOT = Path(__file__).parents[3]
FILE = ROOT / "policies" / "default.safetensors"
RECORD = Path(__file__).with_name("default_answers.json")
SEEDS = (1, 2, 3)


def answers(policy: TrainedPolicy) -> dict[str, Any]:
    """Seed of a problem → the probability of each device for each group, along the first list schedule."""
    return {str(seed): _probabilities(policy, seed).round(6).tolist() for seed in SEEDS}


def _probabilities(policy: TrainedPolicy, seed: int) -> NDArray[np.float64]:
    problem = drawn_problem(tuple(SHAPES), np.random.default_rng(seed)).problem
    graph = group_graph(problem)
    order, listed = np.arange(graph.group_count, dtype=np.int32), graph.listed[0]
    nowhere = np.full(graph.group_count, NO_DEVICE, np.int32)
    episode = DecidedEpisode(0, 1.0, policy.weights, nowhere, order, listed, greedy=True)
    kept = KeptPolicy(policy.settings, policy.weights, episode)
    return decisions_of(kept, graph, 0, listed, lambda: nowhere, GroupStartTimes(problem.simulator)).probabilities


def record() -> None:
    """Write the record of the file that is there."""
    blob = FILE.read_bytes()
    found = answers(TrainedPolicy.from_bytes(blob, FILE.name))
    RECORD.write_text(json.dumps({"sha256": hashlib.sha256(blob).hexdigest(), "answers": found}) + "\n")


if __name__ == "__main__":
    record()
