"""Step times: the bound holds for the simulated step, and what is proven is the optimum."""

import pytest

from engine.clusters.cluster import Contention
from tests.engine.placers.milp.solving import place_alone
from tests.engine.simulator.cases import Op, cluster_of, graph_of
from tests.engine.simulator.streams.drawn_streams import drawn_problem, least_time_us, problem_of_ops

DRAWN = 25


@pytest.mark.parametrize("contention", list(Contention))
def test_its_bound_holds_and_is_often_reached(contention: Contention) -> None:
    proven = 0
    for seed in range(DRAWN):
        problem = drawn_problem(seed, contention=contention, stream=False, tight=False)
        least_us = least_time_us(problem)
        place_alone(problem)
        best_us, bound_us = problem.ledger.best_step_time_us, problem.ledger.lower_bound_us
        assert best_us is not None and bound_us is not None
        assert bound_us <= least_us * (1 + 1e-9), seed
        if problem.ledger.is_proven:
            proven += 1
            assert best_us == pytest.approx(least_us, rel=1e-9), seed
    assert proven > 0.6 * DRAWN


def test_where_nothing_waits_in_turn_the_model_is_the_simulator() -> None:
    """Links that are never busy, and chains side by side, whose order is no question."""
    chains = [
        Op(f"{name}{step}", [f"{name}{step - 1}"] * (step > 0), 10.0 + step, [400])
        for name in "abc"
        for step in range(3)
    ]
    problem = problem_of_ops(*graph_of([*chains, Op("end", ["a2", "b2", "c2"], 5.0)]), cluster_of(3, Contention.NONE))
    place_alone(problem)
    assert problem.ledger.is_proven
    assert problem.ledger.best_step_time_us == pytest.approx(least_time_us(problem), rel=1e-9)
