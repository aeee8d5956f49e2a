"""One network trained on many graphs in turn, over a number of episodes: Placeto as its paper generalises.

Each batch of synchronous episodes samples a graph. The network and its optimiser are shared; each graph has its own
return baseline. Rates and weights fall over the episodes of the training, which count alike whatever evaluations they
took: a state that no move has changed is no evaluation, so a policy that has become deterministic would get more
updates from equal evaluations. With one graph this is a training on that graph, from fresh weights or from given ones.
Source: Addanki et al. 2019, sections 2 and 4, and published code.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import Json
from engine.files.tensor_file import pack_tensors, under, unpack_tensors
from engine.placeto.learning.graph_training import GraphTraining, has_greedy_episode
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.learning.saved_states import STATE, network_arrays, require_same_settings, restore_network
from engine.placeto.networks.making import make_network
from engine.placeto.networks.weights import weights_of
from engine.placeto.passes import greedy_and_sampled
from engine.placeto.settings import PlacetoSettings
from engine.placeto.torch_threads import torch_threads
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem
from engine.problem.learning import Learned

STATE_VERSION = 1


@dataclass(frozen=True, slots=True)
class FamilyBatch:
    """A batch of a training."""

    graph: int
    """number of its problem"""
    end_us: NDArray[np.float64]
    """[episodes] the step times at the episodes' ends, feasible or not"""
    best_end: NDArray[np.int32]
    """[groups] the best of these ends"""
    learned: Learned | None
    """None for a batch of greedy episodes alone"""


class FamilyTraining:
    """A training over `episodes`, in whole batches, from the start or from a saved state (`restore`).

    Call `run_batch` until `is_done`.
    """

    def __init__(
        self,
        problems: Sequence[PlacementProblem],
        settings: PlacetoSettings,
        episodes: int,
        rng: np.random.Generator,
        weights: Mapping[str, NDArray[np.generic]] | None = None,
    ) -> None:
        """`weights` are the network's first ones, else drawn from `rng`; the problems' budgets do not count.

        Raises SettingsError for problems with different numbers of devices, unless the network fits any number.
        """
        if settings.network != "shared_head":
            require_one_device_count(problems, settings)
        self._problems = [problem.with_budget(Budget(MOST_EVALUATIONS)) for problem in problems]
        self._settings, self._planned, self._rng = settings, episodes, rng
        self._network = make_network(settings, problems[0].device_count, rng, weights)
        self._optimiser = Optimiser(self._network, settings.learning_rate)
        self._graphs = [
            GraphTraining(problem, settings, self._network, self._optimiser, _never) for problem in self._problems
        ]
        self._batches_of = [0] * len(problems)
        """of each graph"""
        self.updates = 0
        self._earlier_evaluations = 0
        """made before the saved state from which the training continues"""

    @property
    def episodes(self) -> int:
        """The episodes so far, greedy ones included."""
        return sum(self._batches_of) * self._settings.batch_episodes

    @property
    def evaluations(self) -> int:
        """The evaluations so far."""
        return self._earlier_evaluations + sum(problem.ledger.used for problem in self._problems)

    @property
    def is_done(self) -> bool:
        """Whether all episodes have been made; the last batch is whole too."""
        return self.episodes >= self._planned

    def run_batch(self) -> FamilyBatch:
        """Make the episodes of one batch on one graph, and learn from them."""
        index = int(self._rng.integers(len(self._graphs)))
        graph, progress = self._graphs[index], self.episodes / self._planned
        with torch_threads(self._settings.torch_threads):
            graph.begin()
            greedy = has_greedy_episode(self._settings, sum(self._batches_of))
            outcome = graph.decide(self._rng, greedy=greedy)
            learned = graph.learn(outcome, progress)
        self._batches_of[index] += 1
        self.updates += self._settings.epochs if learned is not None else 0
        return FamilyBatch(index, outcome.end_us, outcome.best_end[1], learned)

    def weights(self) -> dict[str, NDArray[np.generic]]:
        """A copy of the network's weights."""
        return weights_of(self._network)

    def placements(self, problem: PlacementProblem, rng: np.random.Generator, samples: int = 0) -> NDArray[np.int32]:
        """[1 + samples, groups] placements of a graph by the present weights: see `passes.greedy_and_sampled`."""
        return greedy_and_sampled(self._settings, self._network, problem, rng, samples)

    def state(self, beside: Mapping[str, Json] | None = None) -> bytes:
        """Everything that the next batch depends on, except the problems, as bytes.

        `beside` adds other values under their own names, which `restore` returns.
        """
        arrays = network_arrays(self._network, self._optimiser)
        for index, graph in enumerate(self._graphs):
            arrays |= {f"graph.{index}.{name}": array for name, array in graph.arrays().items()}
        texts: dict[str, Json] = {
            **(beside or {}),
            "version": STATE_VERSION,
            "settings": dataclasses.asdict(self._settings),
            **self._own(),
            "rng": cast(Json, self._rng.bit_generator.state),
            "graphs": [graph.values() for graph in self._graphs],
            "batches_of": list(self._batches_of),
            "updates": self.updates,
            "evaluations": self.evaluations,
        }
        return pack_tensors(arrays, texts)

    def _own(self) -> dict[str, Json]:
        """What must be the same where a state is restored, beside version and settings."""
        return {"planned": self._planned, "groups": [problem.group_count for problem in self._problems]}

    def restore(self, state: bytes) -> dict[str, Json]:
        """Continue from `state`; returns its values by name, those that were added among them.

        Raises SettingsError if it was made with other settings, episodes or graphs.
        """
        arrays, texts = unpack_tensors(state, STATE)
        require_same_settings(texts, STATE_VERSION, self._settings, **self._own())
        restore_network(arrays, self._network, self._optimiser)
        values = cast(list[dict[str, Json]], texts["graphs"])
        for index, graph in enumerate(self._graphs):
            graph.restore(under(f"graph.{index}.", arrays), values[index])
        self._rng.bit_generator.state = cast(Mapping[str, object], texts["rng"])
        self._batches_of = cast(list[int], texts["batches_of"])
        self.updates = cast(int, texts["updates"])
        made_here = sum(problem.ledger.used for problem in self._problems)
        self._earlier_evaluations = cast(int, texts["evaluations"]) - made_here
        return dict(texts)


def require_one_device_count(problems: Sequence[PlacementProblem], settings: PlacetoSettings) -> None:
    """Raise SettingsError unless all problems have as many devices as the first."""
    counts = sorted({problem.device_count for problem in problems})
    if len(counts) > 1:
        raise SettingsError(
            f"the network {settings.network!r} on clusters of {' and '.join(map(str, counts))} devices",
            where="network",
            allowed="one number of devices, which decides its shapes; or network=shared_head",
            field="network",
        )


def _never() -> None:
    """Do nothing: a batch of this training is never interrupted."""
