"""Hierarchical placer: a learned grouper over the groups, a sequence-to-sequence placer over its super-groups.

Both are trained jointly, on log p(super-groups) + log p(devices). Presets and deviations are those of `rnn.py`; the
grouper's deviations are in `engine/placers/sequence/grouper.py`. The paper groups ops; here the grouper groups the
problem's groups.
Source: Mirhoseini et al.: A hierarchical model for device placement, ICLR 2018.
"""

import numpy as np

from engine.events import Json, ShouldStop
from engine.placers.sequence.settings import HierarchicalSettings
from engine.problem import PlacementProblem
from engine.settings.making import make_settings


class Hierarchical:
    """Trains grouper and placer on the problem; the ledger keeps the best placement that they find."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `HierarchicalSettings`; `preset` sets the defaults of the others. Raises SettingsError."""
        self.settings = make_settings("hierarchical", HierarchicalSettings, settings)
        self._state: bytes | None = None

    def resume(self, state: bytes) -> None:
        """Load the state of an earlier `PlacerState`: the next `place` continues from there."""
        self._state = state

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        from engine.placers.sequence.grouper import HierarchicalModel  # torch takes seconds to load
        from engine.placers.sequence.training import SequenceTraining

        model = HierarchicalModel(problem, self.settings, rng)
        training = SequenceTraining(problem, model, self.settings, rng, should_stop)
        if self._state is not None:
            training.restore(self._state)
        training.run()
