"""What episodes are worth, and to the evaluation what they cost."""

import numpy as np
import pytest

from engine.placeto.episodes import Episodes, Plan, random_placements
from engine.placeto.evaluation import Evaluator, InterruptedTrainingError, make_check
from engine.placeto.rewards import StepTimePenalty
from engine.problem import PlacementProblem
from tests.engine.placeto.problems import random_problem, two_chains

PENALTY = StepTimePenalty(unit_us=1000.0, penalty=2.0, cap=1e6, per_device_memory=True)


def some_episodes(problem: PlacementProblem, batch: int, *, shared_start: bool, seed: int = 0) -> Episodes:
    rng = np.random.default_rng(seed)
    starts = random_placements(problem.allowed, batch, rng)
    if shared_start:
        starts[:] = starts[0]
    orders = np.tile(np.arange(problem.group_count, dtype=np.int32), (batch, 1))
    plan = Plan(starts, orders, rng.random(orders.shape), np.zeros(batch, bool), 0.0)
    return Episodes(plan, random_placements(problem.allowed, batch, rng)[np.arange(batch)[:, None], orders])


def evaluator(problem: PlacementProblem, reward: str) -> Evaluator:
    return Evaluator(problem, PENALTY, reward, lambda: None)


def test_a_terminal_reward_costs_one_evaluation_an_episode() -> None:
    problem = random_problem(1)
    outcome = evaluator(problem, "terminal").evaluate(some_episodes(problem, 5, shared_start=True))
    assert problem.ledger.used == 5 and outcome.evaluations == [1, 2, 3, 4, 5]
    assert outcome.returns is not None
    assert np.array_equal(outcome.returns, np.repeat(-outcome.end_us[:, None] / 1000.0, problem.group_count, axis=1))


@pytest.mark.parametrize("shared_start", [True, False])
def test_intermediate_rewards_cost_the_starts_and_each_move(shared_start: bool) -> None:
    problem = random_problem(1, evaluations=1000)
    episodes = some_episodes(problem, 4, shared_start=shared_start)
    outcome = evaluator(problem, "intermediate").evaluate(episodes)
    moves = [int((np.diff(episodes.states_of(index), axis=0) != 0).any(axis=1).sum()) for index in range(4)]
    starts = 1 if shared_start else 4
    assert problem.ledger.used == starts + sum(moves)
    assert outcome.evaluations == [starts + sum(moves[: index + 1]) for index in range(4)]


def test_intermediate_returns_are_those_of_every_state_evaluated() -> None:
    problem, other = random_problem(2), random_problem(2)
    episodes = some_episodes(problem, 3, shared_start=False)
    outcome = evaluator(problem, "intermediate").evaluate(episodes)
    assert outcome.returns is not None
    for index in range(3):
        values = other.simulator.evaluate(episodes.states_of(index)).step_time_us
        assert outcome.returns[index] == pytest.approx((values[:-1] - values[-1]) / 1000.0)
        assert outcome.end_us[index] == values[-1]


def test_the_best_end_is_the_least() -> None:
    problem = random_problem(3)
    episodes = some_episodes(problem, 6, shared_start=True)
    outcome = evaluator(problem, "terminal").evaluate(episodes)
    value, placement = outcome.best_end
    assert value == pytest.approx(outcome.end_us.min() / 1000.0)
    assert np.array_equal(placement, episodes.ends()[np.argmin(outcome.end_us)])


def test_the_last_terminal_batch_shrinks_to_the_budget() -> None:
    problem = random_problem(1, evaluations=3)
    outcome = evaluator(problem, "terminal").evaluate(some_episodes(problem, 5, shared_start=True))
    assert problem.ledger.used == 3 and outcome.episodes.plan.batch == 3 and outcome.returns is not None


def test_the_last_intermediate_batch_keeps_the_whole_episodes_that_fit() -> None:
    cost = random_problem(1)
    episodes = some_episodes(cost, 4, shared_start=True)
    full = evaluator(cost, "intermediate").evaluate(episodes)
    problem = random_problem(1, evaluations=full.evaluations[2] - 1)
    outcome = evaluator(problem, "intermediate").evaluate(episodes)
    assert outcome.episodes.plan.batch == 2 and problem.ledger.used == full.evaluations[1]
    assert np.array_equal(outcome.returns, full.returns[:2])  # type: ignore[index,arg-type]  # an array


def test_where_no_episode_fits_the_rest_goes_to_the_ends() -> None:
    problem = random_problem(1, evaluations=2)
    episodes = some_episodes(problem, 4, shared_start=True)
    outcome = evaluator(problem, "intermediate").evaluate(episodes)
    assert problem.ledger.used == 2 and outcome.returns is None
    assert np.array_equal(outcome.episodes.ends(), episodes.ends()[:2])


def test_missing_memory_counts_in_the_returns_but_not_in_the_step_time() -> None:
    problem = two_chains()
    problem.memory_bytes[:] = 1
    everything = Episodes(some_episodes(problem, 1, shared_start=True).plan, np.zeros((1, 10), np.int32))
    outcome = evaluator(problem, "terminal").evaluate(everything)
    assert outcome.returns is not None
    assert -outcome.returns[0, 0] > outcome.end_us[0] / 1000.0 + 100.0
    assert not outcome.end_feasible[0] and outcome.best_us == [None]


def test_many_states_are_evaluated_in_parts_with_the_same_answer() -> None:
    problem = random_problem(4, evaluations=10_000)
    episodes = some_episodes(problem, 200, shared_start=True)
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1

    outcome = Evaluator(problem, PENALTY, "terminal", look).evaluate(episodes)
    assert looks > 1
    assert np.array_equal(outcome.end_us, problem.simulator.evaluate(episodes.ends()).step_time_us)


def test_a_check_asks_and_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placeto.evaluation.LOOK_SECONDS", 0.0)
    problem = random_problem(1)
    make_check(problem, lambda: False)()
    with pytest.raises(InterruptedTrainingError):
        make_check(problem, lambda: True)()


def test_a_check_sees_that_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placeto.evaluation.LOOK_SECONDS", 0.0)
    problem = random_problem(1)
    problem.ledger.earlier_seconds = 1e9
    make_check(problem, lambda: False)()
    object.__setattr__(problem.ledger.budget, "seconds", 1.0)
    with pytest.raises(InterruptedTrainingError):
        make_check(problem, lambda: False)()


def test_an_episode_that_moves_nothing_costs_one_evaluation() -> None:
    problem = random_problem(1)
    plan = some_episodes(problem, 3, shared_start=True).plan
    still = Episodes(plan, np.take_along_axis(plan.starts, plan.orders, axis=1))
    outcome = evaluator(problem, "intermediate").evaluate(still)
    assert outcome.evaluations == [2, 3, 4]
    assert outcome.returns is not None and not outcome.returns.any()
