"""The relaxation: closed forms, brute force over integers, the rounding."""

import itertools

import numpy as np
import pytest

from engine.placers.m_sct import ROUNDING, TaskPairs, edges_of, favourites, solve_relaxation
from engine.search.earliest_start import NO_TASK
from tests.engine.search.hand_made import random_tasks, tasks_of


def edges(*rows: tuple[int, int, float]) -> TaskPairs:
    producer, consumer, transfer_us = zip(*sorted(rows), strict=True)
    return TaskPairs(np.array(producer), np.array(consumer), np.array(transfer_us, dtype=np.float64))


def makespan_us(graph: TaskPairs, time_us: np.ndarray[tuple[int], np.dtype[np.float64]], x: tuple[int, ...]) -> float:
    """On endlessly many devices."""
    end_us = time_us.copy()
    for task in range(len(time_us)):
        into = np.flatnonzero(graph.consumer == task)
        arrivals = [end_us[graph.producer[edge]] + graph.transfer_us[edge] * x[edge] for edge in into]
        end_us[task] += max(arrivals, default=0.0)
    return float(end_us.max())


def best_of_all(graph: TaskPairs, time_us: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    best_us = np.inf
    for x in itertools.product((0, 1), repeat=len(graph.producer)):
        kept = np.array(x) == 0
        if np.bincount(graph.producer[kept]).max(initial=0) > 1 or np.bincount(graph.consumer[kept]).max(initial=0) > 1:
            continue
        best_us = min(best_us, makespan_us(graph, time_us, x))
    return best_us


def test_of_two_children_each_gets_its_share() -> None:
    # 1 + 8 x + 2 = 1 + 4 (1 - x) + 3
    relaxation = solve_relaxation(edges((0, 1, 8.0), (0, 2, 4.0)), np.array([1.0, 2.0, 3.0]), 1000)
    assert relaxation is not None
    assert relaxation.x == pytest.approx([5 / 12, 7 / 12])
    assert relaxation.makespan_us == pytest.approx(1 + 8 * 5 / 12 + 2)


def test_in_a_chain_nothing_is_sent() -> None:
    relaxation = solve_relaxation(edges((0, 1, 8.0), (1, 2, 4.0)), np.array([1.0, 2.0, 3.0]), 1000)
    assert relaxation is not None
    assert relaxation.x == pytest.approx([0, 0]) and relaxation.makespan_us == pytest.approx(6.0)


@pytest.mark.parametrize("seed", range(12))
def test_no_choice_of_favourites_beats_the_relaxation(seed: int) -> None:
    tasks = random_tasks(seed, count=6, equal=True)
    graph, time_us = edges_of(tasks), tasks.time_us[:, 0]
    relaxation = solve_relaxation(graph, time_us, 1000)
    assert relaxation is not None
    assert relaxation.makespan_us <= best_of_all(graph, time_us) + 1e-9
    assert relaxation.makespan_us >= makespan_us(graph, time_us, (0,) * len(graph.producer)) - 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_a_task_has_one_favourite_and_is_one_parents(seed: int) -> None:
    tasks = random_tasks(seed, count=30, equal=True)
    graph = edges_of(tasks)
    relaxation = solve_relaxation(graph, tasks.time_us[:, 0], 10_000)
    assert relaxation is not None
    favourite = favourites(graph, relaxation.x, 30, 0.5)
    assert np.bincount(favourite[favourite != NO_TASK]).max() == 1
    chosen = relaxation.x < 0.5 - ROUNDING
    assert (favourite != NO_TASK).sum() == chosen.sum() > 0


def test_several_flows_between_two_tasks_are_one_edge() -> None:
    graph = edges_of(tasks_of([[1.0, 1.0]] * 2, [(0, 1, 3.0), (0, 1, 4.0)]))
    assert (graph.producer.tolist(), graph.consumer.tolist(), graph.transfer_us.tolist()) == ([0], [1], [7.0])


def test_a_flow_of_a_loop_is_sent_once_a_trip() -> None:
    tasks = tasks_of([[1.0, 1.0]] * 2, [(0, 1, 3.0), (0, 1, 4.0)], trips=[5.0, 1.0])
    late = tasks._replace(links=tasks.links._replace(latency_us=np.full((2, 2), 2.0)))
    assert edges_of(late).transfer_us.tolist() == [3.0 * 5 + 4.0 + 2.0 * 5]


def test_too_few_iterations_are_reported() -> None:
    tasks = random_tasks(1, count=30, equal=True)
    assert solve_relaxation(edges_of(tasks), tasks.time_us[:, 0], 1) is None


def test_a_graph_without_edges_has_no_favourites() -> None:
    graph = edges_of(tasks_of([[1.0, 1.0]] * 2, []))
    relaxation = solve_relaxation(graph, np.array([1.0, 2.0]), 10)
    assert relaxation is not None and relaxation.makespan_us == pytest.approx(2.0)
    assert favourites(graph, relaxation.x, 2, 0.5).tolist() == [NO_TASK, NO_TASK]


def test_a_long_chain_is_one_task() -> None:
    count = 20_000
    rows = TaskPairs(np.arange(count - 1), np.arange(1, count), np.full(count - 1, 3.0))
    relaxation = solve_relaxation(rows, np.full(count, 50.0), 10)
    assert relaxation is not None
    assert not relaxation.x.any() and relaxation.makespan_us == pytest.approx(50.0 * count)


def test_a_chain_within_a_graph_keeps_its_length() -> None:
    # 0 → 1 → 2, 0 → 3 → 4 → 5: behind 0 the two chains take 5 and 6
    graph = edges((0, 1, 8.0), (1, 2, 1.0), (0, 3, 4.0), (3, 4, 9.0), (4, 5, 9.0))
    relaxation = solve_relaxation(graph, np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0]), 1000)
    assert relaxation is not None
    # 1 + 8 x + 5 = 1 + 4 (1 - x) + 6
    assert relaxation.x == pytest.approx([5 / 12, 7 / 12, 0, 0, 0])
    assert relaxation.makespan_us == pytest.approx(1 + 8 * 5 / 12 + 5)
