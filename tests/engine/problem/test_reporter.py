"""What a problem reports of a method, and what a method that calls another gives it."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.events import Episode, FromPlacer, PlacerState, Progress
from engine.problem import Budget, ChunkBest, PlacementProblem
from engine.problem.reporter import MOST_EPISODES, SECONDS_BETWEEN_SIGNS
from tests.engine.placers.small_problems import small_problem

Heard = list[FromPlacer]


def heard_by(problem: PlacementProblem) -> tuple[PlacementProblem, Heard]:
    """The problem that reports, and what it has reported."""
    heard: Heard = []
    return problem.reporting_to(heard.append), heard


def random_placements(problem: PlacementProblem, count: int, seed: int = 0) -> NDArray[np.int32]:
    shape = (count, problem.group_count)
    return np.random.default_rng(seed).integers(0, problem.device_count, shape).astype(np.int32)


def episodes_of(heard: Heard) -> list[Episode]:
    assert all(isinstance(event, Episode) for event in heard)
    return [event for event in heard if isinstance(event, Episode)]


def test_each_improvement_and_every_nth_episode_is_emitted() -> None:
    problem = small_problem(1, evaluations=3 * MOST_EPISODES)
    problem, heard = heard_by(problem)
    placements = random_placements(problem, 100)
    times = problem.evaluate_episodes(placements[:40]).step_time_us.tolist()
    times += problem.evaluate_episodes(placements[40:]).step_time_us.tolist()
    improves = [all(time < earlier for earlier in times[:index]) for index, time in enumerate(times)]
    wanted = [index + 1 for index in range(100) if improves[index] or (index + 1) % 3 == 0]
    episodes = episodes_of(heard)
    assert [episode.episode for episode in episodes] == wanted
    assert [episode.evaluations for episode in episodes] == wanted
    for episode in episodes:
        assert episode.step_time_us == times[episode.episode - 1]
        assert episode.best_step_time_us == min(times[: episode.episode])
        assert episode.placement == placements[episode.episode - 1].tolist()


def test_all_are_emitted_where_a_method_asks_for_it() -> None:
    problem = small_problem(1, evaluations=30 * MOST_EPISODES)
    problem, heard = heard_by(problem)
    problem.evaluate_episodes(random_placements(problem, 20), emit_all=True)
    assert [episode.episode for episode in episodes_of(heard)] == list(range(1, 21))


def test_a_best_that_does_not_fit_the_memory_is_none() -> None:
    problem = small_problem(1, memory_bytes=1)
    problem, heard = heard_by(problem)
    problem.evaluate_episodes(random_placements(problem, 3), emit_all=True)
    assert [(episode.feasible, episode.best_step_time_us) for episode in episodes_of(heard)] == [(False, None)] * 3


def chunk_of(problem: PlacementProblem, step_time_us: float) -> ChunkBest:
    return ChunkBest(np.zeros(problem.group_count, np.int32), step_time_us, 0, 50.0 * step_time_us, 50, at=7)


def test_a_chunk_is_emitted_for_an_improvement_in_its_turn_and_after_a_silence() -> None:
    now = [0.0]
    problem = small_problem(1).with_budget(Budget(100 * MOST_EPISODES), clock=lambda: now[0])
    problem, heard = heard_by(problem)

    def numbers_after(step_time_us: float) -> list[int]:
        problem.evaluate_compiled(50, lambda _: chunk_of(problem, step_time_us))
        return [episode.episode for episode in episodes_of(heard)]

    assert numbers_after(9.0) == [7]  # the first is the best
    assert numbers_after(9.5) == [7, 57]  # 100 evaluations: its turn
    assert numbers_after(9.5) == [7, 57]
    now[0] = SECONDS_BETWEEN_SIGNS
    problem.context.progress("a sign")
    heard.clear()
    assert numbers_after(9.5) == [157]  # 200 evaluations
    assert numbers_after(9.5) == [157]
    assert numbers_after(9.5) == [157, 257]
    now[0] += SECONDS_BETWEEN_SIGNS
    assert numbers_after(9.5) == [157, 257, 307]
    assert [episode.best_step_time_us for episode in episodes_of(heard)] == [9.0] * 3


def test_what_a_called_method_evaluates_is_charged_kept_and_reported_here() -> None:
    problem, twin = small_problem(1), small_problem(1)
    problem, heard = heard_by(problem)
    placements = random_placements(problem, 9)
    problem.evaluate(placements[:4])
    best_before = problem.ledger.best_step_time_us
    own = problem.sub_problem()
    assert own.ledger.remaining == problem.ledger.remaining == 196
    own.evaluate_episodes(placements[4:], emit_all=True)
    own.context.progress("half way", 1, 2)
    own.context.save(lambda: b"nobody's", 0.0)
    times = twin.evaluate(placements).step_time_us
    assert (own.ledger.used, problem.ledger.used) == (5, 9)
    assert own.ledger.best_step_time_us == times[4:].min() and problem.ledger.best_step_time_us == times.min()
    assert problem.ledger.mean_step_time_us == pytest.approx(times.mean())
    *episodes, progress = heard
    assert progress == Progress("half way", 1, 2)
    assert best_before is not None
    for index, episode in enumerate(episodes_of(episodes), start=4):
        assert (episode.episode, episode.evaluations) == (index + 1, index + 1)
        assert episode.best_step_time_us == min(best_before, times[4 : index + 1].min())


def test_a_sub_problem_has_the_seconds_that_are_left() -> None:
    now = [0.0]
    problem = small_problem(1).with_budget(Budget(100, seconds=10.0), clock=lambda: now[0])
    now[0] = 4.0
    own = problem.sub_problem()
    assert own.ledger.budget.seconds == 6.0
    assert [each.ledger.spent for each in (own, problem)] == [False, False]
    now[0] = 10.0
    assert [each.ledger.spent for each in (own, problem)] == [True, True]


def test_states_go_through_the_caller_the_first_after_a_second_and_not_too_often() -> None:
    now = [0.0]
    problem = small_problem(1).with_budget(Budget(100), clock=lambda: now[0])
    problem, heard = heard_by(problem)
    inner = problem.context.with_states(lambda state: b"stage 1: " + state).with_states(lambda state: state + b"!")
    assert inner.ledger is problem.ledger
    early, times = b"early", {1.0: b"1", 3.0: b"2", 7.0: b"3", 12.0: b"4", 17.0: b"5"}
    for seconds, state in sorted([*times.items(), *((seconds - 0.1, early) for seconds in times)]):
        now[0] = seconds
        inner.save(lambda state=state: state, 5.0)  # type: ignore[misc]  # bound now
    assert heard == [PlacerState(b"stage 1: " + state + b"!") for state in times.values()]
