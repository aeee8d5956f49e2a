"""Local search: simulated annealing over the placements of groups, in compiled code.

It starts from the best of the single devices and the list schedulers' placements, or of the single devices and the
placement that a request begins from. Cycles of annealing double in length; each starts hot from the best placement so
far. A move takes one group to another device, a group to its neighbour's
device, a group with its neighbours, a stretch of the critical chain, a block in topological order or a connected
region; or it swaps two groups, or saves a transfer on the critical chain. Most moves begin at a group on that chain.
Where groups nest, a cycle goes from coarse groups to fine ones.

Source: Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing, Science 220, 1983; moves on the critical path
as van Laarhoven, Aarts, Lenstra: Job shop scheduling by simulated annealing, Operations Research 40, 1992.
"""

import numpy as np

from engine.events import Json, ShouldStop
from engine.placers.quick_starts import LIST_METHODS, evaluate_one_device, evaluate_rounds, rounds_of
from engine.problem import PlacementProblem
from engine.search.local_search import LocalSearch, LocalSearchSettings
from engine.settings.making import make_settings


class LocalSearchPlacer:
    """Anneals until the budget is spent, or until its answer is proven to be the optimum."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `LocalSearchSettings`. Raises SettingsError."""
        self.settings = make_settings("local_search", LocalSearchSettings, settings)
        self._state: bytes | None = None

    def resume(self, state: bytes) -> None:
        """Load the state of an earlier `PlacerState`: the next `place` continues from there."""
        self._state = state

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        if self._state is None:
            if problem.ledger.used == 0:
                evaluate_one_device(problem)
            if self.settings.list_starts and problem.context.start is None:
                evaluate_rounds(problem, rounds_of(problem, LIST_METHODS), rng, should_stop)
        if not problem.ledger.spent:
            search = LocalSearch(problem, self.settings, rng, should_stop)
            if self._state is not None:
                search.restore(self._state)
            search.run()
