"""Post: cross-entropy minimisation and proximal policy optimisation of independent choices, one a group.

After every `ppo_samples` placements it takes some PPO ascent steps; after every `cross_entropy_samples` it minimises
the cross entropy on the best tenth of them in closed form instead. Deviations: each group has a probability ratio of
its own, since the variance of the product over many groups is of no use; advantages are divided by their deviation;
missing memory counts as in Placeto; a step is divided by 1 plus the penalty's weight; the ascent adds a multiple of
the gain's mean over all groups to each group's own. From a uniform start on many equal devices no device is better for
a group until the groups agree on some, and a group's own gain is nearly all noise of the others; the mean has less of
it. A value marked "ours" is our choice, since the parts of the paper that we know give none; the others are published.
Source: Gao, Chen, Li: Post: device placement with cross-entropy minimization and proximal policy optimization,
NeurIPS 2018, algorithm 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placers.scorer import Scorer
from engine.problem import PlacementProblem
from engine.problem.trivial import prior_scores
from engine.settings import learners
from engine.settings.fields import number, require_allowed, whole

ADAPT = 1.5
"""factor by which the KL divergence may miss its aim before its penalty's weight is doubled or halved"""
WEIGHT_RANGE = (1e-4, 1e4)


class IndependentChoices:
    """A softmax over the allowed devices for each group."""

    def __init__(self, allowed: NDArray[np.bool_], parameters: NDArray[np.float64] | None = None) -> None:
        """`allowed` is [groups, devices]; every row has a True. The `parameters` of that shape start at 0 if None."""
        self._allowed = allowed
        self.parameters = np.zeros(allowed.shape) if parameters is None else parameters
        """[groups, devices]"""
        self.kl_weight = 1.0
        """weight of the penalty, adapted so that the divergence stays near its aim"""
        self.divergences: list[float] = []
        """mean KL divergence of a group in each ascent so far"""

    def probabilities(self) -> NDArray[np.float64]:
        """[groups, devices]; 0 where a group may not be."""
        masked = np.where(self._allowed, self.parameters, -np.inf)
        powers = np.exp(masked - masked.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def entropy(self) -> float:
        """The mean entropy of a group's choice, in nats."""
        probabilities = self.probabilities()
        logarithms = np.log(np.where(probabilities > 0, probabilities, 1.0))
        return float(-(probabilities * logarithms).sum(axis=1).mean())

    def sample(self, count: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """[count, groups] independent placements."""
        upper = np.cumsum(self.probabilities(), axis=1)
        drawn = rng.random((count, len(upper))) * upper[:, -1]
        return np.asarray((upper[None, :, :] <= drawn[:, :, None]).sum(axis=2), dtype=np.int32)

    def ascend(
        self,
        placements: NDArray[np.int32],
        advantages: NDArray[np.float64],
        *,
        steps: int,
        learning_rate: float,
        kl_aim: float,
        common_gain: float = 0.0,
    ) -> float:
        """Ascend the gradient of E[Σ_m f(d_m)/f_old(d_m) · A] − w · Σ_m KL(f_old ‖ f), then adapt w to `kl_aim`.

        `common_gain` times the mean over the groups of the first term's gradient is added to that of each group.
        The second derivative of w · KL is at most w / 2, so an ascent in steps of more than 4 / w would run away from
        the maximum: each step is `learning_rate` / (1 + w). `placements` [batch, groups] were sampled from the present
        choices, `advantages` is [batch]. Returns the resulting mean KL divergence of a group.
        """
        old = self.probabilities()
        groups = np.arange(len(old))
        chosen = np.eye(old.shape[1])[placements]
        old_of_chosen = old[groups, placements]
        new = old
        step = learning_rate / (1.0 + self.kl_weight)
        for _ in range(steps):
            weights = new[groups, placements] / old_of_chosen * advantages[:, None]
            gain = np.einsum("bg,bgd->gd", weights, chosen) - weights.sum(axis=0)[:, None] * new
            gain = (gain + common_gain * gain.mean(axis=0)) / len(placements)
            self.parameters += step * (gain - self.kl_weight * (new - old))
            new = self.probabilities()
        divergence = mean_divergence(old, new)
        self.divergences.append(divergence)
        self._adapt(divergence, kl_aim)
        return divergence

    def _adapt(self, divergence: float, kl_aim: float) -> None:
        """Double or halve the penalty's weight where the aim is missed. Source: Schulman et al. 2017, section 4."""
        if divergence > ADAPT * kl_aim:
            self.kl_weight *= 2.0
        elif divergence < kl_aim / ADAPT:
            self.kl_weight /= 2.0
        self.kl_weight = float(np.clip(self.kl_weight, *WEIGHT_RANGE))

    def minimise_cross_entropy(self, best: NDArray[np.int32], exploration: float) -> None:
        """f ← (1 − ε) · frequency of each device in `best` [placements, groups] + ε / number of allowed devices."""
        frequencies = np.eye(self._allowed.shape[1])[best].mean(axis=0)
        uniform = self._allowed / self._allowed.sum(axis=1, keepdims=True)
        mixed = (1.0 - exploration) * frequencies + exploration * uniform
        self.parameters = np.log(np.where(self._allowed, mixed, 1.0))


def mean_divergence(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """The mean over groups of KL(old ‖ new), both [groups, devices]; infinite where only `new` rules a device out."""
    counts = old > 0
    with np.errstate(divide="ignore"):
        difference = np.log(np.where(counts, old, 1.0)) - np.log(np.where(counts, new, 1.0))
    return float((old * difference).sum(axis=1).mean())


@dataclass(frozen=True, slots=True)
class Post:
    """Samples placements and learns from them until the budget is spent; the published budget is 2,400 evaluations."""

    ppo_samples: int = whole(20, 2, 100_000, "placements sampled between two updates, the paper's K (ours)")
    cross_entropy_samples: int = whole(
        1200,
        2,
        1_000_000,
        "placements between two minimisations of the cross entropy, the paper's N (ours); a multiple of K",
    )
    best_share: float = number(
        0.1, 1e-6, 1.0, "share of the last N placements whose devices are counted (published: 0.1)"
    )
    exploration: float = number(
        0.02, 1e-9, 1.0, "share of a uniform choice that is mixed in after the minimisation, the paper's ε (ours)"
    )
    ppo_steps: int = whole(10, 0, 10_000, "ascent steps in each update (published: several, about 10)")
    learning_rate: float = number(
        1.0,
        1e-9,
        100.0,
        "learning rate of plain gradient ascent; a step is this divided by 1 plus the penalty's weight (ours)",
    )
    kl_aim: float = number(
        0.06,
        1e-9,
        100.0,
        "aim for a group's mean KL divergence in one update; the penalty's weight adapts to it (ours)",
    )
    common_gain: float = number(
        10.0,
        0.0,
        1e3,
        "how many times the gain's mean over all groups is added to each group's own in an ascent step (ours)",
    )
    prior: str = learners.prior()
    frozen: bool = learners.frozen()

    def __post_init__(self) -> None:
        require_allowed(self, "post")

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        choices = IndependentChoices(problem.allowed, prior_scores(problem, self.prior))
        self.learn(Scorer(problem, should_stop), choices, rng)

    def learn(self, scorer: Scorer, choices: IndependentChoices, rng: np.random.Generator) -> None:
        """Sample placements from `choices` and improve these until the scorer's budget is spent."""
        batches_a_round = max(1, self.cross_entropy_samples // self.ppo_samples)
        while not scorer.over():
            self._run_round(batches_a_round, scorer, choices, rng)

    def _run_round(self, batches: int, scorer: Scorer, choices: IndependentChoices, rng: np.random.Generator) -> None:
        """Run one round: `batches` batches of placements, then one minimisation of the cross entropy."""
        sampled, scored = [], None
        learning_rate = learners.learning_rate(self.learning_rate, is_frozen=self.frozen)
        for batch in range(batches):
            if scorer.over():
                return
            placements = choices.sample(scorer.room(self.ppo_samples), rng)
            worth = scorer.evaluate(placements)
            sampled.append(placements)
            scored = worth if scored is None else scored.followed_by(worth)
            scorer.learned(worth, entropy=choices.entropy(), learning_rate=learning_rate)
            if batch < batches - 1:
                spread = worth.scores.std()
                advantages = (worth.scores.mean() - worth.scores) / (spread if spread > 0 else 1.0)
                choices.ascend(
                    placements,
                    advantages,
                    steps=self.ppo_steps,
                    learning_rate=learning_rate,
                    kl_aim=self.kl_aim,
                    common_gain=self.common_gain,
                )
        assert scored is not None
        if self.frozen:
            return
        count = max(1, round(self.best_share * len(scored.scores)))
        choices.minimise_cross_entropy(np.concatenate(sampled)[scored.order()[:count]], self.exploration)
