"""The teacher: near-optimal placements of training problems by the native search."""

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placeto.seeing.features import fastest_device_placement, group_graph
from engine.problem import Budget, PlacementProblem
from engine.search.earliest_finish import schedule_earliest_finish
from engine.search.local_search import LocalSearch, LocalSearchSettings
from engine.search.tasks import in_order_of_ranks, readings_of


def taught_placement(
    problem: PlacementProblem, budget: Budget, rng: np.random.Generator, should_stop: ShouldStop
) -> tuple[NDArray[np.int32], int]:
    """([groups] the best placement that a search with `budget` finds, its number of evaluations).

    It starts from the best of one device and a list schedule of each reading. If nothing fits the memory, the placement
    is the one that misses the least.
    """
    starts = _starts(problem)
    search_problem = problem.with_budget(budget)
    for start in starts[: search_problem.ledger.remaining]:
        search_problem.evaluate(start[None, :])
    if not search_problem.ledger.spent:
        LocalSearch(search_problem, LocalSearchSettings(), rng, should_stop).run()
    return search_problem.ledger.answer().copy(), search_problem.ledger.used


def _starts(problem: PlacementProblem) -> list[NDArray[np.int32]]:
    """The placement on the fastest device, then the list schedules that use only allowed devices."""
    first = fastest_device_placement(group_graph(problem))
    room_bytes = problem.memory_bytes.astype(np.float64)
    lists = [schedule_earliest_finish(tasks, in_order_of_ranks(tasks), room_bytes)[0] for tasks in readings_of(problem)]
    return [first, *(placement for placement in lists if problem.respects(placement[None, :])[0])]
