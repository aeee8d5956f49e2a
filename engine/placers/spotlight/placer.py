"""Spotlight: places as a decision process of many stages, one a group, learned by proximal policy optimisation.

The score of the finished placement is the reward of all stages. Deviations: groups are described by Placeto's features
(times, bytes, degrees, longest paths) and their adjacency, not by embeddings of types and shapes; advantages are
divided by their deviation; a share of each stage's choice is uniform; missing memory counts as in Placeto. All values
are marked "ours": they are our choice, since the parts of the paper that we know give none. Loads torch only when it
places.
Source: Gao, Chen, Li: Spotlight: optimizing device placement for training deep neural networks, ICML 2018.
"""

from dataclasses import dataclass

import numpy as np

from engine.errors import SettingsError
from engine.events import ShouldStop
from engine.placers.scorer import Scorer
from engine.problem import PlacementProblem
from engine.settings import learners, machine
from engine.settings.fields import number, require_allowed, whole

MOST_GROUPS = 1024
"""each group takes one decoding step that attends to all groups, so memory grows with their square"""


@dataclass(frozen=True, slots=True)
class Spotlight:
    """Samples batches, evaluates them and learns from them until the budget is spent."""

    samples: int = whole(20, 2, 4096, "placements sampled between two updates (ours)")
    ppo_steps: int = whole(4, 0, 1000, "ascent steps in each update (ours)")
    learning_rate: float = number(3e-3, 1e-9, 1.0, "learning rate of Adam (ours)")
    kl_aim: float = number(
        0.03,
        1e-9,
        100.0,
        "aim for a stage's mean KL divergence in one update; the penalty's weight adapts to it (ours)",
    )
    gradient_norm: float = number(1.0, 1e-6, 1e6, "the gradient's global norm is clipped to this (ours)")
    exploration: float = number(
        0.02,
        0.0,
        1.0,
        "share of a uniform choice that is mixed into each stage's, so that none is ever certain (ours)",
    )
    width: int = whole(64, 1, 1024, "width of the LSTMs (ours)")
    prior: str = learners.prior()
    frozen: bool = learners.frozen()
    torch_threads: int = machine.torch_threads()

    def __post_init__(self) -> None:
        require_allowed(self, "spotlight")

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        if problem.group_count > MOST_GROUPS:
            raise SettingsError(
                f"{problem.group_count} groups", where="groups", allowed=f"at most {MOST_GROUPS} for spotlight"
            )
        from engine.placeto.torch_threads import torch_threads  # torch takes seconds to load

        with torch_threads(self.torch_threads):
            self._train(Scorer(problem, should_stop, self.prior), rng)

    def _train(self, scorer: Scorer, rng: np.random.Generator) -> None:
        from engine.placers.spotlight.actor import Ascent, StageActor

        learning_rate = learners.learning_rate(self.learning_rate, is_frozen=self.frozen)
        ascent = Ascent(self.ppo_steps, learning_rate, self.kl_aim, self.gradient_norm, self.exploration)
        actor = StageActor(scorer.graph, rng, width=self.width, ascent=ascent)
        while not scorer.over():
            placements = actor.sample(scorer.room(self.samples), rng, scorer.over)
            if placements is None:
                return
            scored = scorer.evaluate(placements)
            scores, spread = scored.scores, scored.scores.std()
            if spread > 0 and not scorer.over():
                ascended = actor.learn(placements, (scores.mean() - scores) / spread)
                scorer.learned(
                    scored,
                    entropy=ascended.entropy,
                    gradient_norm=ascended.gradient_norm,
                    learning_rate=learning_rate,
                )
