"""BRKGA: a biased random-key genetic algorithm, the search that REGAL directs, with uniform proposals.

Deviation: REGAL's keys for the order of ops are left out, as the simulator's order is given. A value marked "ours" is
our choice, within the range in brackets where the first source recommends one.
Source: Gonçalves, Resende: Biased random-key genetic algorithms for combinatorial optimization, Journal of Heuristics
17, 2011; for placements Paliwal et al.: REGAL, 2019, arXiv 1905.02494.
"""

from dataclasses import dataclass

import numpy as np

from engine.errors import SettingsError
from engine.events import EmitFromPlacer, ShouldStop
from engine.placers.episodes import best_of
from engine.placers.judge import Judge
from engine.placers.placer import Placement
from engine.problem import Budget, PlacementProblem
from engine.rivals.random_keys import Proposals, Shares, decoded, newcomers, next_generation, uniform_proposals
from engine.settings.ranges import require_ranges

_WHOLE = {"population": (4, 100_000)}
_NUMBERS = {
    "elite_share": (0.0, 1.0),
    "mutant_share": (0.0, 1.0),
    "elite_bias": (0.0, 1.0),
}


@dataclass(frozen=True, slots=True)
class Brkga:
    """Breeds until the budget is spent; about 5,000 evaluations a graph are REGAL's published budget."""

    population: int = 50
    """vectors of keys in a generation (ours)"""
    elite_share: float = 0.25
    """share of the population that is kept and bred from (ours; Gonçalves and Resende: 0.1 to 0.25)"""
    mutant_share: float = 0.1
    """share of the population that is drawn anew (ours; Gonçalves and Resende: 0.1 to 0.3)"""
    elite_bias: float = 0.7
    """probability that a key is the elite parent's (ours; Gonçalves and Resende: 0.5 to 0.8)"""

    def __post_init__(self) -> None:
        require_ranges(self, _WHOLE, _NUMBERS, "brkga")
        shares_of("brkga", self.population, self.elite_share, self.mutant_share)

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        shares = shares_of("brkga", self.population, self.elite_share, self.mutant_share)
        proposals = uniform_proposals(problem.group_count, problem.device_count, self.elite_bias)
        breed(problem, Judge(problem, emit, should_stop), proposals, shares, problem.ledger.remaining, rng)
        return best_of(problem)


def breed(
    problem: PlacementProblem,
    judge: Judge,
    proposals: Proposals,
    shares: Shares,
    evaluations: int,
    rng: np.random.Generator,
) -> float:
    """One search from a fresh population for so many `evaluations`; the best score that it came upon."""
    last = judge.room(evaluations)
    keys = newcomers(proposals, min(shares.population, last), rng)
    judged = judge.evaluate(decoded(keys, problem.allowed))
    used = len(keys)
    while used < last and not judge.over():
        order = judged.order()
        keys, judged = keys[order], judged.taken(order)
        born = next_generation(keys, proposals, shares, rng)[: last - used]
        worth = judge.evaluate(decoded(born, problem.allowed))
        used += len(born)
        keys = np.concatenate([keys[: shares.elite], born])
        judged = judged.taken(np.arange(shares.elite)).followed_by(worth)
    return float(judged.scores[judged.order()[0]])


def shares_of(method: str, population: int, elite_share: float, mutant_share: float) -> Shares:
    """Whole numbers of a population; at least one elite and one other. Raises SettingsError."""
    elite, mutants = max(1, round(elite_share * population)), round(mutant_share * population)
    if elite + mutants >= population:
        raise SettingsError(
            f"{elite} elite and {mutants} mutants leave no room in a population of {population}",
            where=f"{method} elite_share, mutant_share",
            allowed="together less than 1",
            field="settings",
        )
    return Shares(population, elite, mutants)
