"""What the placers with a sequence-to-sequence network share: a training of their model, begun or resumed."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from engine.events import ShouldStop
from engine.placers.sequence.settings import RnnSettings
from engine.problem import PlacementProblem

if TYPE_CHECKING:
    from engine.placers.sequence.model import SequenceModel


class SequencePlacer(ABC):
    """Trains a model on the problem; the ledger keeps the best placement that it finds."""

    settings: RnnSettings
    _state: bytes | None = None

    @abstractmethod
    def _model(self, problem: PlacementProblem, rng: np.random.Generator) -> "SequenceModel":
        """The model to train, with its first weights drawn from `rng`."""

    def resume(self, state: bytes) -> None:
        """Load the state of an earlier `PlacerState`: the next `place` continues from there."""
        self._state = state

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        from engine.placers.sequence.training import SequenceTraining  # torch takes seconds to load

        training = SequenceTraining(problem, self._model(problem, rng), self.settings, rng, should_stop)
        if self._state is not None:
            training.restore(self._state)
        training.run()
