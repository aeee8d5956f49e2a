"""Placeto: a policy learns by reinforcement to place one group after the other. Loads torch only when it places.

Two presets: `paper`, the published form, and `fast`, which differs from it as `engine/placeto/settings.py` says.
Source: Addanki, Bojja Venkatakrishnan, Gupta, Mao, Alizadeh: Placeto, NeurIPS 2019, arXiv 1906.08879.
"""

import numpy as np

from engine.events import EmitFromPlacer, Json, ShouldStop
from engine.placers.episodes import best_of
from engine.placers.placer import Placement
from engine.placeto.settings import make_settings
from engine.problem import Budget, PlacementProblem


class Placeto:
    """Trains a policy on the problem and returns the best placement that it came upon."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `PlacetoSettings`; `preset` says what the others default to. Raises SettingsError."""
        self.settings = make_settings(settings)
        self._state: bytes | None = None

    def resume(self, state: bytes) -> None:
        """Take up the state of an earlier `PlacerState`: the next `place` goes on from there."""
        self._state = state

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        from engine.placeto.training import Training  # torch takes seconds to load

        training = Training(problem, self.settings, rng, emit, should_stop)
        if self._state is not None:
            training.restore(self._state)
        training.run()
        return best_of(problem)
