"""Evaluates the states of episodes within the budget, with one evaluation an episode or one a step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.placeto.episodes import Episodes
from engine.placeto.interruption import LOOK_SECONDS, RaiseIfOver
from engine.placeto.learning.rewards import PenalisedTime, intermediate_returns, terminal_returns
from engine.problem import PlacementProblem

MOST_ROWS_A_CALL = 4096


@dataclass(frozen=True, slots=True)
class EvaluatedEpisodes:
    """The results of a batch of episodes; the arrays hold the episodes that the budget allowed."""

    episodes: Episodes
    returns: NDArray[np.float64] | None
    """[batch, steps]; None if the reward needs every step but the budget allowed only the ends"""
    best_end: tuple[float, NDArray[np.int32]]
    """the least ρ' of the batch's ends, and that placement [groups]"""
    memory_penalty: float
    """the mean over the batch's ends of the part of ρ' that is for missing memory"""
    best_index: int
    """of the episode that ended there"""
    end_us: NDArray[np.float64]
    """[batch] the step times of the ends, feasible or not"""


class Evaluator:
    """Evaluates episodes of one problem within its budget."""

    def __init__(
        self, problem: PlacementProblem, penalty: PenalisedTime, reward: str, raise_if_over: RaiseIfOver
    ) -> None:
        self._problem, self._penalty, self._reward, self._raise_if_over = problem, penalty, reward, raise_if_over
        self._rows_a_call = 16

    def value_of(self, placement: NDArray[np.int32]) -> float:
        """ρ' of one placement [groups]; costs one evaluation."""
        return float(self._evaluate(placement[None, :]).penalised[0])

    def evaluate(self, episodes: Episodes) -> EvaluatedEpisodes:
        """Evaluate as many of `episodes` as the budget allows. The budget must have at least one evaluation left."""
        if self._reward == "terminal":
            return self._evaluate_ends(episodes, with_returns=True)
        return self._evaluate_states(episodes)

    def _evaluate_ends(self, episodes: Episodes, *, with_returns: bool) -> EvaluatedEpisodes:
        """Spend one evaluation an episode, on its end, which has returns if the reward needs only that."""
        episodes = episodes.first(self._problem.ledger.remaining)
        ends = episodes.ends()
        seen = self._evaluate(ends, are_episodes=True)
        returns = terminal_returns(seen.penalised, episodes.plan.steps) if with_returns else None
        index, least = _least(seen.penalised, ends)
        return EvaluatedEpisodes(episodes, returns, least, float(seen.of_memory.mean()), index, seen.step_time_us)

    def _evaluate_states(self, episodes: Episodes) -> EvaluatedEpisodes:
        """Spend one evaluation on each distinct start and each step that moves a group, at least one an episode.

        If the budget ends before the first episode does, the rest of it goes to the ends of the episodes.
        """
        starts, start_of = np.unique(episodes.plan.starts, axis=0, return_inverse=True)
        moved = episodes.before() != episodes.actions
        moved[:, -1] |= ~moved.any(axis=1)
        cost = len(starts) + np.cumsum(moved.sum(axis=1))
        whole = int(np.searchsorted(cost, self._problem.ledger.remaining, side="right"))
        if whole == 0:
            return self._evaluate_ends(episodes, with_returns=False)
        episodes = episodes.first(whole)
        start_values = self._evaluate(starts)
        values = np.empty((whole, episodes.plan.steps + 1))
        ends = episodes.ends()
        of_memory, end_us = np.empty(whole), np.empty(whole)
        for index in range(whole):
            start = int(start_of.reshape(-1)[index])
            seen = self._evaluate(episodes.states_of(index)[1:][moved[index]]).after(start_values.row(start))
            state = np.concatenate(([0], np.cumsum(moved[index])))
            values[index] = seen.penalised[state]
            of_memory[index], end_us[index] = seen.of_memory[-1], seen.step_time_us[-1]
            self._problem.context.episode(ends[index], float(end_us[index]), feasible=bool(seen.feasible[-1]))
        index, least = _least(values[:, -1], ends)
        returns = intermediate_returns(values)
        return EvaluatedEpisodes(episodes, returns, least, float(of_memory.mean()), index, end_us)

    def _evaluate(self, placements: NDArray[np.int32], *, are_episodes: bool = False) -> "_Seen":
        """Evaluate `placements` [rows, groups], some at a time, so that a stop takes effect soon."""
        parts: list[_Seen] = [_Seen(np.empty(0), np.empty(0), np.empty(0, dtype=np.bool_), np.empty(0))]
        done, clock = 0, self._problem.ledger.clock
        while done < len(placements):
            rows = placements[done : done + self._rows_a_call]
            began = clock()
            if are_episodes:
                evaluations = self._problem.evaluate_episodes(rows, emit_all=True)
            else:
                evaluations = self._problem.evaluate(rows)
            self._adapt_rows(len(rows), clock() - began)
            memory = evaluations.peak_bytes, self._problem.memory_bytes
            penalised = self._penalty.penalised(evaluations.step_time_us, *memory)
            feasible = self._problem.feasible(evaluations)
            parts.append(_Seen(penalised, evaluations.step_time_us, feasible, self._penalty.of_memory(*memory)))
            done += len(rows)
            self._raise_if_over()
        return _Seen.joined(parts)

    def _adapt_rows(self, rows: int, seconds: float) -> None:
        """Take more rows a call if calls are quick, fewer if they are slow; the values do not depend on it."""
        if seconds > LOOK_SECONDS:
            self._rows_a_call = max(1, rows // 2)
        elif rows == self._rows_a_call and seconds < LOOK_SECONDS / 4:
            self._rows_a_call = min(MOST_ROWS_A_CALL, 2 * rows)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The evaluations of some placements: ρ', step time, whether it fits, the penalty for memory; each [rows]."""

    penalised: NDArray[np.float64]
    step_time_us: NDArray[np.float64]
    feasible: NDArray[np.bool_]
    of_memory: NDArray[np.float64]

    @staticmethod
    def joined(parts: "list[_Seen]") -> "_Seen":
        return _Seen(
            np.concatenate([part.penalised for part in parts]),
            np.concatenate([part.step_time_us for part in parts]),
            np.concatenate([part.feasible for part in parts]),
            np.concatenate([part.of_memory for part in parts]),
        )

    def row(self, index: int) -> "_Seen":
        """Row `index` alone."""
        rows = [index]
        return _Seen(self.penalised[rows], self.step_time_us[rows], self.feasible[rows], self.of_memory[rows])

    def after(self, first: "_Seen") -> "_Seen":
        """`first`, followed by these rows."""
        return _Seen.joined([first, self])


def _least(values: NDArray[np.float64], placements: NDArray[np.int32]) -> tuple[int, tuple[float, NDArray[np.int32]]]:
    index = int(np.argmin(values))
    return index, (float(values[index]), placements[index].copy())
