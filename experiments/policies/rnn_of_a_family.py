"""One RNN for the graphs of a family: trained on several problems in turn, then applied to an unseen one.

The network's softmax has a fixed size, so all problems have the same number of devices. It reads a group's neighbours
by their numbers, so it carries over badly. Source: Addanki et al. 2019, section 4, where the RNN
of Mirhoseini et al. 2017 is trained on a family and applied to its unseen graphs without further training.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import ShouldStop
from engine.placers.sequence.model import RnnModel, Vocabulary
from engine.placers.sequence.network import SequenceNetwork
from engine.placers.sequence.settings import RnnSettings
from engine.placers.sequence.training import SequenceTraining
from engine.placeto.interruption import InterruptedTrainingError
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.torch_threads import torch_threads
from engine.problem import PlacementProblem


class RnnFamily:
    """The network and its training problems."""

    def __init__(self, problems: Sequence[PlacementProblem], settings: RnnSettings, rng: np.random.Generator) -> None:
        """`problems` are for training, each with its budget. Raises SettingsError for different numbers of devices."""
        _check_devices(problems)
        self._problems, self._settings, self._rng = problems, settings, rng
        types = sorted({name for problem in problems for name in problem.graph.op_types})
        self.vocabulary = Vocabulary(tuple(types), max(problem.group_count for problem in problems))
        first = RnnModel(problems[0], settings, rng, self.vocabulary)
        self.network: SequenceNetwork = first.network
        self._models = [first, *(self._model(problem) for problem in problems[1:])]

    def train(self, should_stop: ShouldStop) -> None:
        """Train one batch on each problem in turn until all budgets are spent or `should_stop`."""
        self._train(self._problems, self._models, should_stop)

    def train_on(self, problem: PlacementProblem, should_stop: ShouldStop) -> None:
        """Train the network further on one problem, which may be an unseen one, until its budget is spent."""
        _check_devices([self._problems[0], problem])
        self._train([problem], [self._model(problem)], should_stop)

    def _train(self, problems: Sequence[PlacementProblem], models: Sequence[RnnModel], should_stop: ShouldStop) -> None:
        optimiser = Optimiser(self.network, self._settings.learning_rate)
        trainings = [
            SequenceTraining(problem, model, self._settings, self._rng, should_stop, optimiser)
            for problem, model in zip(problems, models, strict=True)
        ]
        with torch_threads(self._settings.torch_threads):
            while not should_stop() and not all(problem.ledger.spent for problem in problems):
                for problem, training in zip(problems, trainings, strict=True):
                    if problem.ledger.spent:
                        continue
                    try:
                        training.run_batch()
                    except InterruptedTrainingError:
                        return

    def propose(self, problem: PlacementProblem, samples: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """[1 + samples, groups] the most probable placement of `problem`, then sampled ones; no evaluation is charged.

        Raises SettingsError for more groups or another number of devices than it was trained on.
        """
        _check_devices([self._problems[0], problem])
        if problem.group_count > self.vocabulary.most_groups:
            allowed = f"at most {self.vocabulary.most_groups} groups, as in training"
            raise SettingsError(f"{problem.group_count} groups", where="rnn", allowed=allowed, field="groups")
        with torch_threads(self._settings.torch_threads):
            return self._model(problem).greedy_and_sampled(samples, rng, lambda: None)

    def _model(self, problem: PlacementProblem) -> RnnModel:
        return RnnModel(problem, self._settings, self._rng, self.vocabulary, self.network)


def _check_devices(problems: Sequence[PlacementProblem]) -> None:
    counts = sorted({problem.device_count for problem in problems})
    if len(counts) > 1:
        raise SettingsError(
            f"an RNN for {' and '.join(map(str, counts))} devices",
            where="rnn",
            allowed="one number of devices: its softmax has a fixed size",
            field="cluster",
        )
