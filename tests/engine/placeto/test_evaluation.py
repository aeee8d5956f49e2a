"""What episodes are worth, and to the evaluation what they cost."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.events import Episode
from engine.placeto.episodes import EpisodePlan, Episodes, random_placements
from engine.placeto.interruption import InterruptedTrainingError, make_raise_if_over
from engine.placeto.learning.evaluation import EvaluatedEpisodes, Evaluator
from engine.placeto.learning.rewards import PenalisedTime
from engine.problem import PlacementProblem
from tests.engine.placers.small_problems import with_memory
from tests.engine.placeto.problems import random_problem, two_chains

PENALTY = PenalisedTime(unit_us=1000.0, penalty=2.0, cap=1e6, per_device_memory=True)


def some_episodes(problem: PlacementProblem, batch: int, *, shared_start: bool, seed: int = 0) -> Episodes:
    rng = np.random.default_rng(seed)
    starts = random_placements(problem.allowed, batch, rng)
    if shared_start:
        starts[:] = starts[0]
    orders = np.tile(np.arange(problem.group_count, dtype=np.int32), (batch, 1))
    plan = EpisodePlan(starts, orders, rng.random(orders.shape), np.zeros(orders.shape, bool), 0.0)
    return Episodes(plan, random_placements(problem.allowed, batch, rng)[np.arange(batch)[:, None], orders])


def evaluated(problem: PlacementProblem, reward: str, episodes: Episodes) -> tuple[EvaluatedEpisodes, list[Episode]]:
    """What they came to, and what was reported of them."""
    heard: list[Episode] = []
    problem = problem.reporting_to(lambda event: heard.append(event) if isinstance(event, Episode) else None)
    return Evaluator(problem, PENALTY, reward, lambda: None).evaluate(episodes), heard


def ends_us(heard: list[Episode]) -> NDArray[np.float64]:
    """[episodes]"""
    return np.array([episode.step_time_us for episode in heard])


def test_a_terminal_reward_costs_one_evaluation_an_episode() -> None:
    problem = random_problem(1)
    outcome, heard = evaluated(problem, "terminal", some_episodes(problem, 5, shared_start=True))
    assert problem.ledger.used == 5 and [episode.evaluations for episode in heard] == [1, 2, 3, 4, 5]
    assert outcome.returns is not None
    assert np.array_equal(outcome.returns, np.repeat(-ends_us(heard)[:, None] / 1000.0, problem.group_count, axis=1))


@pytest.mark.parametrize("shared_start", [True, False])
def test_intermediate_rewards_cost_the_starts_and_each_move(shared_start: bool) -> None:
    problem = random_problem(1, evaluations=1000)
    episodes = some_episodes(problem, 4, shared_start=shared_start)
    _, heard = evaluated(problem, "intermediate", episodes)
    moves = [int((np.diff(episodes.states_of(index), axis=0) != 0).any(axis=1).sum()) for index in range(4)]
    starts = 1 if shared_start else 4
    assert problem.ledger.used == starts + sum(moves)
    assert [episode.evaluations for episode in heard] == [starts + sum(moves[: index + 1]) for index in range(4)]


def test_intermediate_returns_are_those_of_every_state_evaluated() -> None:
    problem, other = random_problem(2), random_problem(2)
    episodes = some_episodes(problem, 3, shared_start=False)
    outcome, heard = evaluated(problem, "intermediate", episodes)
    assert outcome.returns is not None
    for index in range(3):
        values = other.simulator.evaluate(episodes.states_of(index)).step_time_us
        assert outcome.returns[index] == pytest.approx((values[:-1] - values[-1]) / 1000.0)
        assert heard[index].step_time_us == values[-1]


def test_the_best_end_is_the_least() -> None:
    problem = random_problem(3)
    episodes = some_episodes(problem, 6, shared_start=True)
    outcome, heard = evaluated(problem, "terminal", episodes)
    value, placement = outcome.best_end
    assert value == pytest.approx(ends_us(heard).min() / 1000.0)
    assert np.array_equal(placement, episodes.ends()[np.argmin(ends_us(heard))])


def test_the_last_terminal_batch_shrinks_to_the_budget() -> None:
    problem = random_problem(1, evaluations=3)
    outcome, heard = evaluated(problem, "terminal", some_episodes(problem, 5, shared_start=True))
    assert problem.ledger.used == 3 == len(heard) and outcome.episodes.plan.batch == 3 and outcome.returns is not None


def test_the_last_intermediate_batch_keeps_the_whole_episodes_that_fit() -> None:
    cost = random_problem(1)
    episodes = some_episodes(cost, 4, shared_start=True)
    full, counted = evaluated(cost, "intermediate", episodes)
    problem = random_problem(1, evaluations=counted[2].evaluations - 1)
    outcome, heard = evaluated(problem, "intermediate", episodes)
    assert outcome.episodes.plan.batch == 2 == len(heard) and problem.ledger.used == counted[1].evaluations
    assert np.array_equal(outcome.returns, full.returns[:2])  # type: ignore[index,arg-type]  # an array


def test_where_no_episode_fits_the_rest_goes_to_the_ends() -> None:
    problem = random_problem(1, evaluations=2)
    episodes = some_episodes(problem, 4, shared_start=True)
    outcome, heard = evaluated(problem, "intermediate", episodes)
    assert problem.ledger.used == 2 == len(heard) and outcome.returns is None
    assert np.array_equal(outcome.episodes.ends(), episodes.ends()[:2])


def test_missing_memory_counts_in_the_returns_but_not_in_the_step_time() -> None:
    problem = two_chains()
    problem = with_memory(problem, [1] * problem.device_count)
    everything = Episodes(some_episodes(problem, 1, shared_start=True).plan, np.zeros((1, 10), np.int32))
    outcome, heard = evaluated(problem, "terminal", everything)
    assert outcome.returns is not None
    assert -outcome.returns[0, 0] > heard[0].step_time_us / 1000.0 + 100.0
    assert not heard[0].feasible and heard[0].best_step_time_us is None


def test_many_states_are_evaluated_in_parts_with_the_same_answer() -> None:
    problem = random_problem(4, evaluations=10_000)
    episodes = some_episodes(problem, 200, shared_start=True)
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1

    heard: list[float] = []
    problem = problem.reporting_to(
        lambda event: heard.append(event.step_time_us) if isinstance(event, Episode) else None
    )
    Evaluator(problem, PENALTY, "terminal", look).evaluate(episodes)
    assert looks > 1
    assert np.array_equal(heard, problem.simulator.evaluate(episodes.ends()).step_time_us)


def test_a_check_asks_and_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placeto.interruption.LOOK_SECONDS", 0.0)
    problem = random_problem(1)
    make_raise_if_over(problem, lambda: False)()
    with pytest.raises(InterruptedTrainingError):
        make_raise_if_over(problem, lambda: True)()


def test_a_check_sees_that_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placeto.interruption.LOOK_SECONDS", 0.0)
    problem = random_problem(1)
    problem.ledger.earlier_seconds = 1e9
    make_raise_if_over(problem, lambda: False)()
    object.__setattr__(problem.ledger.budget, "seconds", 1.0)
    with pytest.raises(InterruptedTrainingError):
        make_raise_if_over(problem, lambda: False)()


def test_an_episode_that_moves_nothing_costs_one_evaluation() -> None:
    problem = random_problem(1)
    plan = some_episodes(problem, 3, shared_start=True).plan
    still = Episodes(plan, np.take_along_axis(plan.starts, plan.orders, axis=1))
    outcome, heard = evaluated(problem, "intermediate", still)
    assert [episode.evaluations for episode in heard] == [2, 3, 4]
    assert outcome.returns is not None and not outcome.returns.any()
