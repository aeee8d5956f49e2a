"""BRKGA: a biased random-key genetic algorithm, the search that REGAL directs, here with uniform proposals.

Deviation: REGAL's keys for the order of ops are left out, since the simulator decides the order. A value marked "ours"
is our choice, within the range in brackets where the first source recommends one.
Source: Gonçalves, Resende: Biased random-key genetic algorithms for combinatorial optimization, Journal of Heuristics
17, 2011; for placements Paliwal et al.: REGAL, 2019, arXiv 1905.02494.

A placement is coded as keys in [0, 1], one a group and device; a group goes to the allowed device with its highest key.
Each generation keeps the best placements and draws some newcomers (mutants); every other member takes each key from an
elite parent with the group's elite bias as probability, else from a parent outside the elite.
Source: Gonçalves, Resende: Biased random-key genetic algorithms for combinatorial optimization, Journal of Heuristics
17, 2011; keys and their distributions as Paliwal et al. 2019 (REGAL), section 3.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import ShouldStop
from engine.placers.scorer import Scorer
from engine.placeto.seeing.features import GroupGraph
from engine.problem import PlacementProblem
from engine.problem.trivial import kept_apart
from engine.settings import learners
from engine.settings.fields import number, require_allowed, whole


@dataclass(frozen=True, slots=True)
class Proposals:
    """Beta distributions of newcomers' keys, and the probabilities with which crossover favours the elite parent."""

    alpha: NDArray[np.float64]
    """[groups, devices]"""
    beta: NDArray[np.float64]
    """[groups, devices]"""
    elite_bias: NDArray[np.float64]
    """[groups] probability that a key is the elite parent's"""
    prior_scores: NDArray[np.float64] | None = None
    """[groups, devices] a newcomer's keys u become u^exp(−score); None: they stay"""


def uniform_proposals(groups: int, devices: int, elite_bias: float) -> Proposals:
    """The plain algorithm's proposals: keys uniform in [0, 1] (Beta(1, 1)), one bias for all groups."""
    ones = np.ones((groups, devices))
    return Proposals(ones, ones, np.full(groups, elite_bias))


def with_prior(proposals: Proposals, graph: GroupGraph) -> Proposals:
    """`proposals` with the prior of `graph`: newcomers whose keys were uniform then have its probabilities."""
    if not graph.prior_scores.any():
        return proposals
    return dataclasses.replace(proposals, prior_scores=graph.prior_scores.astype(np.float64))


def newcomers(proposals: Proposals, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """[count, groups, devices] keys drawn from `proposals`."""
    keys = rng.beta(proposals.alpha, proposals.beta, (count, *proposals.alpha.shape))
    return keys if proposals.prior_scores is None else np.asarray(keys ** np.exp(-proposals.prior_scores))


def decoded(keys: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.int32]:
    """[count, groups] from `keys` [count, groups, devices]: the allowed device with the highest key."""
    return np.asarray(np.where(allowed, keys, -1.0).argmax(axis=2), dtype=np.int32)


def offspring(
    elite: NDArray[np.float64],
    others: NDArray[np.float64],
    elite_bias: NDArray[np.float64],
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """[count, groups, devices] children of an elite and another parent; `elite_bias` is the share of elite keys."""
    first = elite[rng.integers(0, len(elite), count)]
    second = others[rng.integers(0, len(others), count)]
    favoured = rng.random(first.shape) < elite_bias[None, :, None]
    return np.where(favoured, first, second)


@dataclass(frozen=True, slots=True)
class GenerationShares:
    """The size of a generation and of its parts."""

    population: int
    elite: int
    """members that are kept unchanged and used as parents"""
    mutants: int
    """members that are drawn anew"""

    @property
    def evaluations_a_generation(self) -> int:
        """The number of evaluations of a generation, whose elite is not evaluated again."""
        return self.population - self.elite


def next_generation(
    keys: NDArray[np.float64], proposals: Proposals, shares: GenerationShares, rng: np.random.Generator
) -> NDArray[np.float64]:
    """[population − elite, groups, devices] the new members; `keys` [population, groups, devices], the best first."""
    elite, others = keys[: shares.elite], keys[shares.elite :]
    mutants = newcomers(proposals, shares.mutants, rng)
    children = shares.evaluations_a_generation - shares.mutants
    return np.concatenate([mutants, offspring(elite, others, proposals.elite_bias, children, rng)])


@dataclass(frozen=True, slots=True)
class Brkga:
    """Breeds until the budget is spent; about 5,000 evaluations a graph are REGAL's published budget."""

    population: int = whole(50, 4, 100_000, "vectors of keys in a generation (ours)")
    elite_share: float = number(
        0.25, 0.0, 1.0, "share of the population that is kept and bred from (ours; Gonçalves and Resende: 0.1 to 0.25)"
    )
    mutant_share: float = number(
        0.1, 0.0, 1.0, "share of the population that is drawn anew (ours; Gonçalves and Resende: 0.1 to 0.3)"
    )
    elite_bias: float = number(
        0.7, 0.0, 1.0, "probability that a key is the elite parent's (ours; Gonçalves and Resende: 0.5 to 0.8)"
    )
    prior: str = learners.prior()

    def __post_init__(self) -> None:
        require_allowed(self, "brkga")
        shares_of("brkga", self.population, self.elite_share, self.mutant_share)

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        shares = shares_of("brkga", self.population, self.elite_share, self.mutant_share)
        proposals = uniform_proposals(problem.group_count, problem.device_count, self.elite_bias)
        scorer = Scorer(problem, should_stop, self.prior)
        proposals = with_prior(proposals, scorer.graph)
        breed(problem, scorer, proposals, shares, problem.ledger.remaining, rng, problem.context.start)


def breed(
    problem: PlacementProblem,
    scorer: Scorer,
    proposals: Proposals,
    shares: GenerationShares,
    evaluations: int,
    rng: np.random.Generator,
    start: NDArray[np.int32] | None = None,
) -> float:
    """Run one search of `evaluations` evaluations from a fresh population; returns the best score it found.

    `start` [groups] becomes one of the population.
    """
    last = scorer.room(evaluations)
    keys = newcomers(proposals, min(shares.population, last), rng)
    if start is not None:
        keys[0, np.arange(problem.group_count), start] = 1.0  # decodes to the start
    scored = scorer.evaluate(kept_apart(problem, decoded(keys, problem.allowed)))
    used = len(keys)
    while used < last and not scorer.over():
        order = scored.order()
        keys, scored = keys[order], scored.taken(order)
        born = next_generation(keys, proposals, shares, rng)[: last - used]
        worth = scorer.evaluate(kept_apart(problem, decoded(born, problem.allowed)))
        used += len(born)
        keys = np.concatenate([keys[: shares.elite], born])
        scored = scored.taken(np.arange(shares.elite)).followed_by(worth)
    return float(scored.scores[scored.order()[0]])


def shares_of(method: str, population: int, elite_share: float, mutant_share: float) -> GenerationShares:
    """The shares as numbers of members, with at least one elite and one other. Raises SettingsError."""
    elite, mutants = max(1, round(elite_share * population)), round(mutant_share * population)
    if elite + mutants >= population:
        raise SettingsError(
            f"{elite} elite and {mutants} mutants leave no room in a population of {population}",
            where=f"{method} elite_share, mutant_share",
            allowed="together less than 1",
            field="settings",
        )
    return GenerationShares(population, elite, mutants)
