"""Batches: on any number of threads, from several Python threads, in forked and fresh processes, always the same."""

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.simulator import Simulator
from experiments.bench.training_graph import make_training_graph
from tests.engine.simulator.cases import cluster_of


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    graph, costs = make_training_graph(1000, np.random.default_rng(0))
    groups = np.arange(graph.op_count, dtype=np.int32) % 50
    return Simulator(graph, costs, cluster_of(3), groups)


@pytest.fixture(scope="module")
def placements() -> NDArray[np.int32]:
    return np.random.default_rng(1).integers(0, 3, (203, 50), dtype=np.int32)


@pytest.fixture(scope="module")
def one_by_one(simulator: Simulator, placements: NDArray[np.int32]) -> NDArray[np.float64]:
    return np.array([simulator.evaluate(placement[np.newaxis]).step_time_us[0] for placement in placements])


@pytest.mark.parametrize("threads", [1, 2, 7, None])
def test_threads_change_nothing(
    simulator: Simulator, placements: NDArray[np.int32], one_by_one: NDArray[np.float64], threads: int | None
) -> None:
    answer = simulator.evaluate(placements, threads=threads)
    assert np.array_equal(answer.step_time_us, one_by_one)
    assert np.array_equal(answer.peak_bytes, simulator.evaluate(placements, threads=1).peak_bytes)


def test_several_python_threads_may_call_at_once(
    simulator: Simulator, placements: NDArray[np.int32], one_by_one: NDArray[np.float64]
) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: simulator.evaluate(placements, threads=2).step_time_us, range(24)))
    assert all(np.array_equal(answer, one_by_one) for answer in answers)


def test_an_empty_batch_has_an_empty_answer(simulator: Simulator) -> None:
    answer = simulator.evaluate(np.zeros((0, 50), dtype=np.int32))
    assert answer.step_time_us.shape == (0,)
    assert answer.peak_bytes.shape == (0, 3)


def test_placements_may_have_any_integer_type_and_layout(
    simulator: Simulator, placements: NDArray[np.int32], one_by_one: NDArray[np.float64]
) -> None:
    others: list[Any] = [placements.astype(np.int64), np.asfortranarray(placements), placements.astype(np.uint8)]
    for other in others:
        assert np.array_equal(simulator.evaluate(other).step_time_us, one_by_one)


def _evaluate_and_send(simulator: Simulator, placements: NDArray[np.int32], pipe: Connection) -> None:
    pipe.send(simulator.evaluate(placements, threads=2).step_time_us.tolist())


def test_a_forked_child_works_after_its_parent_has_used_threads(
    simulator: Simulator, placements: NDArray[np.int32], one_by_one: NDArray[np.float64]
) -> None:
    """As in Celery's prefork pool: the child has none of the parent's threads."""
    simulator.evaluate(placements, threads=2)
    here, there = multiprocessing.Pipe()
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=_evaluate_and_send, args=(simulator, placements, there))
    child.start()
    assert here.poll(60), "the child hangs"
    assert here.recv() == one_by_one.tolist()
    child.join()
    assert child.exitcode == 0


FRESH = """
import numpy as np
from engine.simulator import Simulator
from engine.simulator.batches import evaluate_batch
from tests.engine.simulator.cases import Op, cluster_of, graph_of
graph, costs = graph_of([Op("a", time_us=1)])
print(Simulator(graph, costs, cluster_of(1)).evaluate(np.zeros((1, 1), dtype=np.int32)).step_time_us[0])
print(sum(evaluate_batch.stats.cache_hits.values()), sum(evaluate_batch.stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_a_fresh_process_takes_its_machine_code_from_disk(simulator: Simulator) -> None:
    """`simulator` is there so that the code has been compiled before."""
    assert simulator.evaluate(np.zeros((1, 50), dtype=np.int32)).step_time_us[0] > 0
    fresh = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True)
    assert fresh.stdout.split() == ["6.7", "1", "0"]
