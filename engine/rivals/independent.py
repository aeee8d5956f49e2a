"""An independent choice of a device for each group, and the two ways in which Post improves it. Closed forms in NumPy.

Source: Gao, Chen, Li: Post, NeurIPS 2018, algorithm 1 and equations 10 and 11.
"""

import numpy as np
from numpy.typing import NDArray

ADAPT = 1.5
"""by what factor the KL divergence may miss its aim before the weight of its penalty is doubled or halved"""
WEIGHT_RANGE = (1e-4, 1e4)


class IndependentChoices:
    """A softmax over the allowed devices for each group, with parameters that start at 0."""

    def __init__(self, allowed: NDArray[np.bool_]) -> None:
        """`allowed` is [groups, devices]; every row has a True."""
        self._allowed = allowed
        self.parameters = np.zeros(allowed.shape)
        """[groups, devices]"""
        self.kl_weight = 1.0
        """of the penalty; adapted so that the divergence is about what is aimed at"""

    def probabilities(self) -> NDArray[np.float64]:
        """[groups, devices]; 0 where a group may not be."""
        masked = np.where(self._allowed, self.parameters, -np.inf)
        powers = np.exp(masked - masked.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

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
    ) -> float:
        """Gradient ascent on E[Σ_m f(d_m)/f_old(d_m) · A] − w · Σ_m KL(f_old ‖ f), and then w adapted to `kl_aim`.

        `placements` [batch, groups] were sampled from the present choices, `advantages` is [batch]. Returns the mean KL
        divergence of a group that came of it.
        """
        old = self.probabilities()
        groups = np.arange(len(old))
        chosen = np.eye(old.shape[1])[placements]
        old_of_chosen = old[groups, placements]
        new = old
        for _ in range(steps):
            weights = new[groups, placements] / old_of_chosen * advantages[:, None]
            gain = np.einsum("bg,bgd->gd", weights, chosen) - weights.sum(axis=0)[:, None] * new
            self.parameters += learning_rate * (gain / len(placements) - self.kl_weight * (new - old))
            new = self.probabilities()
        divergence = mean_divergence(old, new)
        self._adapt(divergence, kl_aim)
        return divergence

    def _adapt(self, divergence: float, kl_aim: float) -> None:
        """Source: Schulman et al. 2017, section 4."""
        if divergence > ADAPT * kl_aim:
            self.kl_weight *= 2.0
        elif divergence < kl_aim / ADAPT:
            self.kl_weight /= 2.0
        self.kl_weight = float(np.clip(self.kl_weight, *WEIGHT_RANGE))

    def minimise_cross_entropy(self, best: NDArray[np.int32], exploration: float) -> None:
        """f ← (1 − ε) · how often each device is chosen among `best` [placements, groups] + ε / devices allowed."""
        frequencies = np.eye(self._allowed.shape[1])[best].mean(axis=0)
        uniform = self._allowed / self._allowed.sum(axis=1, keepdims=True)
        mixed = (1.0 - exploration) * frequencies + exploration * uniform
        self.parameters = np.log(np.where(self._allowed, mixed, 1.0))


def mean_divergence(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """The mean over groups of KL(old ‖ new), both [groups, devices]; infinite where `new` has given a device up."""
    counts = old > 0
    with np.errstate(divide="ignore"):
        difference = np.log(np.where(counts, old, 1.0)) - np.log(np.where(counts, new, 1.0))
    return float((old * difference).sum(axis=1).mean())
