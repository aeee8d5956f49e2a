"""Auto: what a hurried user wants. The best of what is had at once, then the search that pays most for the rest.

First one device, so that there is an answer after one evaluation; then the list schedulers, Scotch and a small random
sample; then, where the budget suffices for all placements, every one of them, else local search from the best so far.

Source: this project's own measurements: `python -m engine experiments auto_check`. Each part names its own source.
"""

from dataclasses import dataclass

import numpy as np

from engine.archive import pack, unpack
from engine.events import EmitFromPlacer, Episode, Json, PlacerState, Progress, ShouldStop
from engine.placers.episodes import best_of, evaluate_as_episodes
from engine.placers.exhaustive import Exhaustive
from engine.placers.first_answers import LIST_METHODS, evaluate_methods, evaluate_one_device
from engine.placers.local_search import LocalSearch
from engine.placers.placer import Placement, ResumablePlacer
from engine.placers.random import random_placements
from engine.problem import Budget, PlacementProblem
from engine.search.enumeration import count_placements
from engine.search.settings import CHECKPOINT_SECONDS, make_settings, require_number
from engine.search.symmetry import interchangeable_devices

MOST_OPS_TO_RELAX = 6000
"""in larger graphs the linear programme of m-SCT would take longer than all else"""
MOST_SAMPLED = 32


@dataclass(frozen=True, slots=True)
class AutoSettings:
    """A hurried user chooses nothing."""

    sample: float = 0.01
    """share of the evaluations for a random sample"""
    checkpoint_seconds: float = 5.0
    """least time between two states told for going on after an interruption"""

    def __post_init__(self) -> None:
        require_number("auto", "sample", self.sample, 0.0, 1.0)
        require_number("auto", "checkpoint_seconds", self.checkpoint_seconds, *CHECKPOINT_SECONDS)


class Auto:
    """Spends the budget on what gives most; told is every improvement."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `AutoSettings`. Raises SettingsError."""
        self.settings = make_settings("auto", AutoSettings, settings)
        self._state: bytes | None = None

    def resume(self, state: bytes) -> None:
        """Take up the state of an earlier `PlacerState`: the next `place` goes on from there."""
        self._state = state

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        if self._state is None:
            self._evaluate_what_is_had_at_once(problem, rng, emit, should_stop)
            name = "exhaustive" if _few_enough(problem) else "local_search"
        else:
            name, state = _unpacked(self._state)
        if problem.ledger.spent or should_stop():
            return best_of(problem)
        search = self._search(name)
        if self._state is not None:
            search.resume(state)

        def hear(event: Episode | Progress | PlacerState) -> None:
            emit(PlacerState(_packed(name, event.state)) if isinstance(event, PlacerState) else event)

        return search.place(problem, budget, rng, hear, should_stop)

    def _evaluate_what_is_had_at_once(
        self, problem: PlacementProblem, rng: np.random.Generator, emit: EmitFromPlacer, should_stop: ShouldStop
    ) -> None:
        evaluate_one_device(problem, emit)
        methods = [*LIST_METHODS, "scotch", *(["m_sct"] if problem.graph.op_count <= MOST_OPS_TO_RELAX else [])]
        evaluate_methods(problem, methods, rng, emit, should_stop)
        count = min(MOST_SAMPLED, int(self.settings.sample * problem.ledger.remaining))
        if count > 0 and not problem.ledger.spent:
            sample = random_placements(problem.allowed, count, rng)
            evaluate_as_episodes(problem, sample, emit, first_episode=problem.ledger.used + 1)

    def _search(self, name: str) -> ResumablePlacer:
        if name == "exhaustive":
            return Exhaustive(checkpoint_seconds=self.settings.checkpoint_seconds)
        return LocalSearch(checkpoint_seconds=self.settings.checkpoint_seconds, list_starts=False)


def _few_enough(problem: PlacementProblem) -> bool:
    """Whether all placements can be evaluated."""
    return count_placements(problem.allowed, interchangeable_devices(problem)) <= problem.ledger.remaining


def _packed(name: str, state: bytes) -> bytes:
    return pack({"state": np.frombuffer(state, np.uint8)}, {"search": name})


def _unpacked(blob: bytes) -> tuple[str, bytes]:
    arrays, texts = unpack(blob)
    return str(texts["search"]), arrays["state"].tobytes()
