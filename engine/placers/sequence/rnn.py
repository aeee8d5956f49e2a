"""RNN-based placer: a sequence-to-sequence network reads the groups and decides a device for one after the other.

Two presets: `paper`, the published sizes and rates, and `fast`, the default, which differs from it as
`engine/placers/sequence/settings.py` says. Deviations of both: the groups are the problem's own, where the paper groups
by hand; outputs are seen by their bytes, not their shapes; one process samples all placements of a batch; sampling goes
on to the end, while the public code repeats its last placement after 500 updates.
Source: Mirhoseini et al.: Device placement optimization with reinforcement learning, ICML 2017, arXiv 1706.04972.
"""

import numpy as np

from engine.events import Json, ShouldStop
from engine.placers.sequence.settings import RnnSettings
from engine.problem import PlacementProblem
from engine.settings.making import make_settings


class Rnn:
    """Trains the network on the problem and returns the best placement that it came upon."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `RnnSettings`; `preset` says what the others default to. Raises SettingsError."""
        self.settings = make_settings("rnn", RnnSettings, settings)

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        from engine.placers.sequence.model import RnnModel  # torch takes seconds to load
        from engine.placers.sequence.training import SequenceTraining

        model = RnnModel(problem, self.settings, rng)
        SequenceTraining(problem, model, self.settings, rng, should_stop).run()
