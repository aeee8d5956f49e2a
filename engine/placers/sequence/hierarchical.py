"""Hierarchical placer: a learned grouper over the groups, a sequence-to-sequence placer over its super-groups.

Both are trained jointly, on log p(super-groups) + log p(devices). Presets, and deviations, as those of `rnn.py`; those
of the grouper stand in `engine/placers/sequence/grouper.py`. What the paper groups are ops, here they are the problem's
groups.
Source: Mirhoseini et al.: A hierarchical model for device placement, ICLR 2018.
"""

from functools import partial

import numpy as np

from engine.events import EmitFromPlacer, Json, ShouldStop
from engine.placers.episodes import best_of, evaluate_and_tell
from engine.placers.placer import Placement
from engine.placers.sequence.settings import HierarchicalSettings, make_settings
from engine.problem import Budget, PlacementProblem


class Hierarchical:
    """Trains grouper and placer on the problem and returns the best placement that it came upon."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `HierarchicalSettings`; `preset` says what the others default to. Raises SettingsError."""
        self.settings = make_settings("hierarchical", HierarchicalSettings, settings)

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        from engine.placers.sequence.grouper import HierarchicalModel  # torch takes seconds to load
        from engine.placers.sequence.training import Training

        evaluate = partial(evaluate_and_tell, problem, emit=emit)
        model = HierarchicalModel(problem, self.settings, rng)
        Training(problem, model, self.settings, rng, evaluate, should_stop).run()
        return best_of(problem)
