"""RNN-based placer: a sequence-to-sequence network reads the groups and decides a device for one after the other.

It has two presets: `paper`, the published sizes and rates, and the default `fast`, whose differences are in
`engine/placers/sequence/settings.py`. Deviations of both: the groups are the problem's, where the paper groups by hand;
the network sees the bytes of outputs, not their shapes; one process samples all placements of a batch; sampling goes on
to the end, while the public code repeats its last placement after 500 updates.
Source: Mirhoseini et al.: Device placement optimization with reinforcement learning, ICML 2017, arXiv 1706.04972.
"""

import numpy as np

from engine.events import Json, ShouldStop
from engine.placers.sequence.settings import RnnSettings
from engine.problem import PlacementProblem
from engine.settings.making import make_settings


class Rnn:
    """Trains the network on the problem; the ledger keeps the best placement that it finds."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `RnnSettings`; `preset` sets the defaults of the others. Raises SettingsError."""
        self.settings = make_settings("rnn", RnnSettings, settings)
        self._state: bytes | None = None

    def resume(self, state: bytes) -> None:
        """Load the state of an earlier `PlacerState`: the next `place` continues from there."""
        self._state = state

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        from engine.placers.sequence.model import RnnModel  # torch takes seconds to load
        from engine.placers.sequence.training import SequenceTraining

        model = RnnModel(problem, self.settings, rng)
        training = SequenceTraining(problem, model, self.settings, rng, should_stop)
        if self._state is not None:
            training.restore(self._state)
        training.run()
