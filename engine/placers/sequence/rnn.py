"""RNN-based placer: a sequence-to-sequence network reads the groups and decides a device for one after the other.

It has two presets: `paper`, the published sizes and rates, and the default `fast`, whose differences are in
`engine/placers/sequence/settings.py`. Deviations of both: the groups are the problem's, where the paper groups by hand;
the network sees the bytes of outputs, not their shapes; one process samples all placements of a batch; sampling goes on
to the end, while the public code repeats its last placement after 500 updates.
Source: Mirhoseini et al.: Device placement optimization with reinforcement learning, ICML 2017, arXiv 1706.04972.
"""

from typing import TYPE_CHECKING

import numpy as np

from engine.events import Json
from engine.placers.sequence.placer import SequencePlacer
from engine.placers.sequence.settings import RnnSettings
from engine.problem import PlacementProblem
from engine.settings.making import make_settings

if TYPE_CHECKING:
    from engine.placers.sequence.model import RnnModel


class Rnn(SequencePlacer):
    """Trains the network on the problem; the ledger keeps the best placement that it finds."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `RnnSettings`; `preset` sets the defaults of the others. Raises SettingsError."""
        self.settings: RnnSettings = make_settings("rnn", RnnSettings, settings)

    def _model(self, problem: PlacementProblem, rng: np.random.Generator) -> "RnnModel":
        from engine.placers.sequence.model import RnnModel  # torch takes seconds to load

        return RnnModel(problem, self.settings, rng)
