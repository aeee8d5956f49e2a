"""The solver: known optima, known starts, and how it is stopped."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.placers.milp.linear_model import LinearModel
from engine.placers.milp.placer import Milp
from engine.placers.milp.solver import SolverOutcome, solve
from engine.problem import Budget
from tests.engine.simulator.streams.drawn_streams import drawn_problem


def two_machines(times: list[float]) -> tuple[LinearModel, int]:
    """Jobs that each go to one of two machines; the objective is the longer machine."""
    model = LinearModel()
    first = model.new_columns((len(times),), 1.0, integer=True)
    longest = int(model.new_columns((1,))[0])
    model.add_row([(first, np.array(times)), (longest, -1.0)], upper=0.0)
    model.add_row([(first, -np.array(times)), (longest, -1.0)], upper=-sum(times))
    return model, longest


def solved(times: list[float], start: list[float] | None = None) -> tuple[SolverOutcome, list[NDArray[np.float64]]]:
    model, longest = two_machines(times)
    heard: list[NDArray[np.float64]] = []
    given = None if start is None else (np.arange(len(start)), np.array(start))
    return solve(model, longest, given, 0, None, None, lambda _bound: False, heard.append), heard


def test_the_optimum_is_found_and_bound() -> None:
    outcome, heard = solved([3.0, 3.0, 2.0, 2.0, 2.0])
    assert outcome.is_done and outcome.bound == pytest.approx(6.0)
    assert heard[-1][-1] == pytest.approx(6.0)


def test_a_known_solution_is_the_first_one() -> None:
    _, heard = solved([3.0, 3.0, 2.0, 2.0, 2.0], [1.0, 0.0, 1.0, 1.0, 0.0])
    assert heard[0][-1] == pytest.approx(7.0) and heard[0][:5].tolist() == [1, 0, 1, 1, 0]


def test_what_has_no_solution_says_so() -> None:
    model, longest = two_machines([1.0])
    model.add_row([(longest, 1.0)], upper=0.5)
    outcome = solve(model, longest, None, 0, None, None, lambda _bound: False, lambda _solution: None)
    assert outcome.is_done and outcome.bound == np.inf


def test_an_error_comes_out_behind_the_solver() -> None:
    def fail(_solution: NDArray[np.float64]) -> None:
        raise KeyError("found")

    model, longest = two_machines([3.0, 3.0, 2.0, 2.0, 2.0])
    with pytest.raises(KeyError, match="found"):
        solve(model, longest, None, 0, None, None, lambda _bound: False, fail)


def test_it_stops_within_a_solve() -> None:
    """When asked, and when the seconds are over: a problem that would take minutes."""
    problem = drawn_problem(5, most_ops=60, most_devices=6, tight=False, least_ops=60, least_devices=6)
    asked = 0

    def should_stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 40

    Milp(start_share=0.0).place(problem, np.random.default_rng(0), should_stop)
    assert not problem.ledger.is_proven and asked < 100
    limited = problem.with_budget(Budget(10_000, 3.0))
    Milp(start_share=0.0).place(limited, np.random.default_rng(0), lambda: False)
    assert 3.0 <= limited.ledger.elapsed_seconds < 6.0
    assert limited.ledger.lower_bound_us is not None and limited.ledger.lower_bound_us > 0


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    solved([1.0, 2.0])
    assert capfd.readouterr() == ("", "")
