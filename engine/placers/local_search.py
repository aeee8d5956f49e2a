"""Local search: simulated annealing over the placements of groups, in compiled code.

It starts from the best of one device and of the list schedulers' plans, and is heated anew in cycles that double in
length, each from the best placement so far. Moves: one group to another device, a group to its neighbour's device, two
groups change places, a group with its neighbours, a stretch of the chain that the step waits for, a transfer of that
chain saved, a block in topological order, a connected region. Most of them begin at a group on that chain.

Source: Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing, Science 220, 1983; moves on the critical path
as van Laarhoven, Aarts, Lenstra: Job shop scheduling by simulated annealing, Operations Research 40, 1992.
"""

import numpy as np

from engine.events import Json, ShouldStop
from engine.placers.quick_starts import LIST_METHODS, evaluate_methods, evaluate_one_device
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
        """Take up the state of an earlier `PlacerState`: the next `place` goes on from there."""
        self._state = state

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        if self._state is None:
            if problem.ledger.used == 0:
                evaluate_one_device(problem)
            if self.settings.list_starts:
                evaluate_methods(problem, LIST_METHODS, rng, should_stop)
        if not problem.ledger.spent:
            search = LocalSearch(problem, self.settings, rng, should_stop)
            if self._state is not None:
                search.restore(self._state)
            search.run()
