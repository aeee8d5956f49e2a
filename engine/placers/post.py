"""Post: cross-entropy minimisation and proximal policy optimisation of independent choices, one a group.

Every `ppo_samples` placements some PPO ascent steps; every `cross_entropy_samples` the closed form of cross-entropy
minimisation on the best tenth of them instead. Deviations: the ratio of probabilities is taken for each group alone,
as the product over many groups has no useful variance; advantages are divided by their deviation; missing memory counts
as in Placeto. A value marked "ours" is our choice, as what we know of the paper gives none; the others are published.
Source: Gao, Chen, Li: Post: device placement with cross-entropy minimization and proximal policy optimization,
NeurIPS 2018, algorithm 1.
"""

from dataclasses import dataclass

import numpy as np

from engine.events import EmitFromPlacer, ShouldStop
from engine.placers.episodes import best_of
from engine.placers.judge import Judge
from engine.placers.placer import Placement
from engine.problem import Budget, PlacementProblem
from engine.rivals.independent import IndependentChoices
from engine.settings.ranges import require_ranges

_WHOLE = {
    "ppo_samples": (2, 100_000),
    "cross_entropy_samples": (2, 1_000_000),
    "ppo_steps": (0, 10_000),
}
_NUMBERS = {
    "best_share": (1e-6, 1.0),
    "exploration": (1e-9, 1.0),
    "learning_rate": (1e-9, 100.0),
    "kl_aim": (1e-9, 100.0),
}


@dataclass(frozen=True, slots=True)
class Post:
    """Samples, learns, samples again, until the budget is spent; 2,400 evaluations is the published budget."""

    ppo_samples: int = 10
    """placements sampled between two updates, the paper's K (ours)"""
    cross_entropy_samples: int = 100
    """placements between two minimisations of the cross entropy, the paper's N (ours); a multiple of K"""
    best_share: float = 0.1
    """share of the last N placements whose devices are counted (published: 0.1)"""
    exploration: float = 0.02
    """share of a uniform choice that is mixed in after the minimisation, the paper's ε (ours)"""
    ppo_steps: int = 10
    """ascent steps in each update (published: several, about 10)"""
    learning_rate: float = 1.0
    """of plain gradient ascent (ours)"""
    kl_aim: float = 0.03
    """mean KL divergence of a group in one update, to which the penalty's weight is adapted (ours)"""

    def __post_init__(self) -> None:
        require_ranges(self, _WHOLE, _NUMBERS, "post")

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        judge, choices = Judge(problem, emit, should_stop), IndependentChoices(problem.allowed)
        batches_a_round = max(1, self.cross_entropy_samples // self.ppo_samples)
        while not judge.over():
            self._run_round(batches_a_round, judge, choices, rng)
        return best_of(problem)

    def _run_round(self, batches: int, judge: Judge, choices: IndependentChoices, rng: np.random.Generator) -> None:
        """The placements from one minimisation of the cross entropy to the next."""
        sampled, judged = [], None
        for batch in range(batches):
            if judge.over():
                return
            placements = choices.sample(judge.room(self.ppo_samples), rng)
            worth = judge.evaluate(placements)
            sampled.append(placements)
            judged = worth if judged is None else judged.followed_by(worth)
            if batch < batches - 1:
                spread = worth.scores.std()
                advantages = (worth.scores.mean() - worth.scores) / (spread if spread > 0 else 1.0)
                choices.ascend(
                    placements,
                    advantages,
                    steps=self.ppo_steps,
                    learning_rate=self.learning_rate,
                    kl_aim=self.kl_aim,
                )
        assert judged is not None
        count = max(1, round(self.best_share * len(judged.scores)))
        choices.minimise_cross_entropy(np.concatenate(sampled)[judged.order()[:count]], self.exploration)
