"""Reports a method's episodes, progress and states, and decides which episodes are left out."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.events import EmitFromPlacer, Episode, FromPlacer, LearnedPolicy, PlacerState, Progress, Update
from engine.graphs.grouping.nesting import SplitPlacement
from engine.problem.learning import Learned, LearningCurve
from engine.problem.ledger import ChunkBest, Ledger
from engine.simulator import Evaluations

MOST_EPISODES = 2000
"""most episodes that a run emits beside its improvements: a hundred million would fill any disk"""
SECONDS_BETWEEN_SIGNS = 2.0
"""longest time between two episodes of compiled code: after it the next chunk is emitted, improved or not"""
FIRST_STATE_SECONDS = 1.0
"""until the first saved state, from the start or from where a run goes on"""


ToSplit: TypeAlias = Callable[[NDArray[np.int32]], SplitPlacement]
"""gives a placement [groups] as events have it: by the groups that people see, and their parts"""


def by_group(placement: NDArray[np.int32]) -> SplitPlacement:
    """A placement [groups] of groups that nobody splits."""
    return SplitPlacement(placement.tolist())


def ignore(_event: FromPlacer) -> None:
    """Ignore an event: the `emit` of a caller that wants none."""


class Reporter:
    """Numbers a method's episodes and emits them, with the best and the evaluations of the ledger."""

    def __init__(self, ledger: Ledger, emit: EmitFromPlacer, to_split: ToSplit) -> None:
        self._ledger, self._emit, self.to_split = ledger, emit, to_split
        self._every = -(-ledger.budget.evaluations // MOST_EPISODES)
        self.episodes = 0
        """the number of the last episode, emitted or not"""
        self.learning = LearningCurve()
        self._sign_seconds = self._state_seconds = ledger.clock()
        self._until_state = FIRST_STATE_SECONDS

    def begin(self) -> None:
        """Begin the method's time."""
        self._sign_seconds = self._state_seconds = self._ledger.clock()

    def emit(self, event: Episode | Update | Progress) -> None:
        """Emit `event` unchanged."""
        self._sign_seconds = self._ledger.clock()
        self._emit(event)

    def episode(
        self, placement: NDArray[np.int32], step_time_us: float, *, feasible: bool, number: int | None = None
    ) -> None:
        """Emit the episode that was evaluated last; `number` is given if the method does not count its episodes."""
        self.episodes = self.episodes + 1 if number is None else number
        self._emit_episode(self.episodes, placement, step_time_us, feasible, self._ledger.best_step_time_us)

    def batch(
        self,
        placements: NDArray[np.int32],
        evaluations: Evaluations,
        feasible: NDArray[np.bool_],
        best_before_us: float | None,
        *,
        all_of_them: bool,
    ) -> None:
        """Emit `placements` [batch, groups], which were evaluated last, as episodes.

        Without `all_of_them` it emits only those that improve on the best, and every n-th.
        """
        best = np.inf if best_before_us is None else best_before_us
        used_before = self._ledger.used - len(placements)
        elapsed_seconds = self._ledger.elapsed_seconds
        for index, step_time_us in enumerate(evaluations.step_time_us):
            self.episodes += 1
            improves = bool(feasible[index]) and step_time_us < best
            best = float(step_time_us) if improves else best
            if all_of_them or improves or self.episodes % self._every == 0:
                self._emit_episode(
                    self.episodes,
                    placements[index],
                    float(step_time_us),
                    bool(feasible[index]),
                    None if np.isinf(best) else best,
                    used_before + index + 1,
                    elapsed_seconds,
                )

    def chunk(self, best: ChunkBest, *, improved: bool) -> None:
        """Emit the `best` of the chunk evaluated last, numbered by its evaluation, if it `improved` on all before, once
        in n evaluations, or if nothing was emitted for long."""
        used_before = self._ledger.used - best.evaluations
        turn = self._ledger.used // self._every != used_before // self._every
        if improved or turn or self._ledger.clock() - self._sign_seconds >= SECONDS_BETWEEN_SIGNS:
            self.episodes = used_before + best.at
            feasible, known_us = best.missing_bytes == 0, self._ledger.best_step_time_us
            number, level_groups = self.episodes, best.level_groups
            self._emit_episode(
                number, best.placement, best.step_time_us, feasible, known_us, number, level_groups=level_groups
            )

    def learned(self, learned: Learned) -> None:
        """Emit an update for what the method has `learned` since the last one, if it is time for one."""
        means = self.learning.add(learned)
        if means is not None:
            self.emit(
                Update(
                    episode=self.episodes,
                    evaluations=self._ledger.used,
                    elapsed_seconds=self._ledger.elapsed_seconds,
                    mean_return=means.mean_return,
                    return_baseline=means.return_baseline,
                    memory_penalty=means.memory_penalty,
                    entropy=means.entropy,
                    gradient_norm=means.gradient_norm,
                    learning_rate=means.learning_rate,
                )
            )

    def _emit_episode(
        self,
        number: int,
        placement: NDArray[np.int32],
        step_time_us: float,
        feasible: bool,
        best_step_time_us: float | None,
        evaluations: int | None = None,
        elapsed_seconds: float | None = None,
        level_groups: int | None = None,
    ) -> None:
        split = self.to_split(placement)
        self.emit(
            Episode(
                episode=number,
                step_time_us=step_time_us,
                feasible=feasible,
                best_step_time_us=best_step_time_us,
                evaluations=self._ledger.used if evaluations is None else evaluations,
                elapsed_seconds=self._ledger.elapsed_seconds if elapsed_seconds is None else elapsed_seconds,
                placement=split.device_of_group,
                parts=split.parts,
                level_groups=len(placement) if level_groups is None else level_groups,
            )
        )

    def keep_policy(self, policy: bytes) -> None:
        """Emit the method's policy."""
        self._emit(LearnedPolicy(policy))

    def save(self, state: Callable[[], bytes], every_seconds: float) -> None:
        """Emit the method's state, at most every `every_seconds`; the first ones sooner.

        The time between two doubles from `FIRST_STATE_SECONDS`, so that a run whose process is killed again and again
        still makes progress.
        """
        now = self._ledger.clock()
        if now - self._state_seconds >= min(self._until_state, every_seconds):
            self._state_seconds, self._until_state = now, 2 * self._until_state
            self._emit(PlacerState(state()))
