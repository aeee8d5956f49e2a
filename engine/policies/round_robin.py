"""Reinforcement learning over problems in turn: a batch on each, the same weights on all. Loads torch."""

import time
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.events import Json
from engine.placeto.checkpoints import set_weights, weights_of
from engine.placeto.episodes import fastest_device_placement, make_plan
from engine.placeto.evaluation import Evaluator
from engine.placeto.features import group_graph
from engine.placeto.policy import chosen_device
from engine.placeto.reinforce import Reinforce
from engine.placeto.rewards import ReturnBaseline
from engine.placeto.settings import PlacetoSettings, make_settings
from engine.placeto.shared_head import SharedHead
from engine.placeto.shared_head_policy import SharedHeadPolicy, fresh_network
from engine.placeto.tensor_file import pack_tensors, unpack_tensors
from engine.placeto.torch_threads import torch_threads
from engine.placeto.training import step_time_penalty
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.training_problem import TrainingProblem
from engine.problem import MOST_EVALUATIONS, Budget


class RoundRobin:
    """One training: made, perhaps given an earlier state by `restore`, then batch after batch."""

    def __init__(self, problems: Sequence[TrainingProblem], settings: PolicyTrainingSettings, seed: int) -> None:
        self.placeto_settings = _placeto_settings(settings)
        self._settings = settings
        self._rng = np.random.default_rng(seed)
        torch_device = chosen_device(settings.torch_device)
        self._network = fresh_network(self.placeto_settings, self._rng, torch_device)
        self._bound = [_Bound(problem, self.placeto_settings, self._network) for problem in problems]
        self.episodes = self.evaluations = self._batches = 0
        self._earlier_seconds, self._began = 0.0, time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the training began, earlier calls included."""
        return self._earlier_seconds + time.monotonic() - self._began

    @property
    def done(self) -> float:
        """Share of the training, from 0 to 1."""
        if self._settings.reinforcement_batches:
            return min(1.0, self._batches / self._settings.reinforcement_batches)
        return min(1.0, self.seconds / self._settings.seconds)

    def run_batch(self) -> None:
        """Learn from a batch of episodes on the next problem."""
        bound = self._bound[self._batches % len(self._bound)]
        with torch_threads(self._settings.torch_threads):
            self.evaluations += bound.run_batch(self._rng, self.done)
        self.episodes += self.placeto_settings.batch_episodes
        self._batches += 1

    def weights(self) -> dict[str, NDArray[np.generic]]:
        """A copy."""
        return weights_of(self._network)

    def state(self) -> bytes:
        """Everything that the next batch depends on, but for the problems."""
        arrays = {f"weights.{name}": array for name, array in self.weights().items()}
        for index, bound in enumerate(self._bound):
            arrays |= {f"problem.{index}.{name}": array for name, array in bound.arrays().items()}
        texts: dict[str, Json] = {
            "rng": cast(Json, self._rng.bit_generator.state),
            "counts": [self._batches, self.episodes, self.evaluations],
            "seconds": self.seconds,
        }
        return pack_tensors(arrays, texts)

    def restore(self, state: bytes) -> None:
        """Go on from `state`."""
        arrays, texts = unpack_tensors(state, "the state of the training")
        set_weights(self._network, _under("weights.", arrays), "the state of the training")
        for index, bound in enumerate(self._bound):
            bound.restore(_under(f"problem.{index}.", arrays))
        self._rng.bit_generator.state = cast(Mapping[str, object], texts["rng"])
        self._batches, self.episodes, self.evaluations = cast(list[int], texts["counts"])
        self._earlier_seconds, self._began = cast(float, texts["seconds"]), time.monotonic()


class _Bound:
    """The network on one of the problems."""

    def __init__(self, training: TrainingProblem, settings: PlacetoSettings, network: SharedHead) -> None:
        problem = training.problem.with_budget(Budget(MOST_EVALUATIONS))
        graph = group_graph(problem)
        self._problem, self._graph, self._settings = problem, graph, settings
        self._policy = SharedHeadPolicy(settings, graph, network, chosen_device(settings.torch_device))
        self._reinforce = Reinforce(self._policy, settings)
        self._baseline = ReturnBaseline(settings.return_baseline_episodes, graph.group_count * settings.passes)
        self._evaluator = Evaluator(problem, step_time_penalty(settings, graph), settings.reward, _never)

    def run_batch(self, rng: np.random.Generator, progress: float) -> int:
        """One batch; how many evaluations it took."""
        used = self._problem.ledger.used
        plan = make_plan(self._settings, self._graph, fastest_device_placement(self._graph), False, rng)
        outcome = self._evaluator.evaluate(self._policy.sample(plan, _never))
        assert outcome.returns is not None, "the budget has no end"
        advantages = self._baseline.advantages(outcome.returns, normalise=True)
        self._reinforce.update(outcome.episodes, advantages, progress, _never)
        self._baseline.add(outcome.returns)
        return self._problem.ledger.used - used

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """For `restore`."""
        optimiser = {f"optimiser.{name}": array for name, array in self._reinforce.arrays().items()}
        return optimiser | {"return_baseline": self._baseline.window}

    def restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take up what `arrays` gave."""
        self._reinforce.restore(_under("optimiser.", arrays))
        self._baseline.window = arrays["return_baseline"].astype(np.float64)


def _placeto_settings(settings: PolicyTrainingSettings) -> PlacetoSettings:
    return make_settings(
        {
            "embedding_width": settings.embedding_width,
            "hidden_width": settings.hidden_width,
            "message_rounds": settings.message_rounds,
            "torch_device": settings.torch_device,
            "torch_threads": settings.torch_threads,
            "start": "fastest_device",
        }
    )


def _never() -> None:
    """Nothing interrupts a batch."""


def _under(prefix: str, arrays: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
