"""The plan of a team: what each of its learners does, whichever process it is in.

graphs 0, n, 2n, …    ──▶ learner 0
graphs 1, n+1, …      ──▶ learner 1
…
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from engine.policies.settings import PolicyTrainingSettings
from engine.policies.training_problem import TrainingProblem

if TYPE_CHECKING:
    from engine.policies.learner import Learner


@dataclass(frozen=True, slots=True)
class TeamPlan:
    """One training by several learners."""

    count: int
    """of learners"""
    shares: Mapping[int, Sequence[TrainingProblem]]
    """learner → its problems; the plan of one process may lack those of others"""
    settings: PolicyTrainingSettings
    """of each learner"""
    seed: int
    """of the training"""
    learner_type: "type[Learner]"
    """importable by its name"""

    def of_process(self, rank: int, size: int) -> "TeamPlan":
        """What process `rank` of `size` needs of the plan: its learners are `rank`, `rank + size`, …."""
        return replace(self, shares={number: self.shares[number] for number in range(rank, self.count, size)})

    def digest(self) -> bytes:
        """What processes must agree on to train one policy together."""
        shares = [
            (number, training.name, training.cluster_name, training.problem.group_count)
            for number, share in self.shares.items()
            for training in share
        ]
        return hashlib.sha256(repr((shares, asdict(self.settings), self.seed)).encode()).digest()


def team_plan(
    problems: Sequence[TrainingProblem], settings: PolicyTrainingSettings, seed: int, learner_type: "type[Learner]"
) -> TeamPlan:
    """The plan of `settings.learners` learners, but of no more than there are problems."""
    count = min(settings.learners, len(problems))
    shares = dict(enumerate(shares_of(problems, count)))
    return TeamPlan(count, shares, settings_of_member(settings, count), seed, learner_type)


def shares_of(problems: Sequence[TrainingProblem], count: int) -> list[list[TrainingProblem]]:
    """[count] the problems of each learner: a graph on all of its clusters, or with fewer graphs single problems.

    So each learns on every cluster, and a graph is in the memory of one process.
    """
    of_graph: dict[int, list[TrainingProblem]] = {}
    for training in problems:
        of_graph.setdefault(id(training.problem.graph), []).append(training)
    parts = [*of_graph.values()] if len(of_graph) >= count else [[training] for training in problems]
    return [list(chain.from_iterable(parts[number::count])) for number in range(count)]


def settings_of_member(settings: PolicyTrainingSettings, count: int) -> PolicyTrainingSettings:
    """The settings of one of `count` learners, who share what is counted; seconds pass for all alike."""
    shared = ("imitation_steps", "reinforcement_batches", "drawn")
    changes = {name: -(-getattr(settings, name) // count) for name in shared}
    return replace(settings, learners=1, **changes)


def seed_of_member(seed: int, number: int) -> int:
    """The seed of a learner: the first has that of the training, so that a team of one is the training itself."""
    return seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
