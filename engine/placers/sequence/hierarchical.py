"""Hierarchical placer: a learned grouper over the groups, a sequence-to-sequence placer over its super-groups.

Both are trained jointly, on log p(super-groups) + log p(devices). Presets and deviations are those of `rnn.py`; the
grouper's deviations are in `engine/placers/sequence/grouper.py`. The paper groups ops; here the grouper groups the
problem's groups.
Source: Mirhoseini et al.: A hierarchical model for device placement, ICLR 2018.
"""

from typing import TYPE_CHECKING

import numpy as np

from engine.events import Json
from engine.placers.sequence.placer import SequencePlacer
from engine.placers.sequence.settings import HierarchicalSettings
from engine.problem import PlacementProblem
from engine.settings.making import make_settings

if TYPE_CHECKING:
    from engine.placers.sequence.grouper import HierarchicalModel


class Hierarchical(SequencePlacer):
    """Trains grouper and placer on the problem; the ledger keeps the best placement that they find."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `HierarchicalSettings`; `preset` sets the defaults of the others. Raises SettingsError."""
        self.settings: HierarchicalSettings = make_settings("hierarchical", HierarchicalSettings, settings)

    def _model(self, problem: PlacementProblem, rng: np.random.Generator) -> "HierarchicalModel":
        from engine.placers.sequence.grouper import HierarchicalModel  # torch takes seconds to load

        return HierarchicalModel(problem, self.settings, rng)
