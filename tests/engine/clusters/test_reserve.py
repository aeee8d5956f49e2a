"""Memory that the runtime keeps: methods, limits and sentences count with the rest."""

import json

import numpy as np
import pytest

from engine.clusters.cluster import Cluster, with_reserve
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.parsing import parse_cluster
from engine.clusters.shorthand import shorthand_of
from engine.errors import ClusterError
from engine.events import Json
from engine.explaining.judging import judgement
from engine.number_words import bytes_words
from engine.placers.registry import make_placer
from engine.problem import Budget, RunContext
from engine.problem.making import problem_of
from tests.engine.formats.modules.recorded_chain import SIZE, recorded_chain

CHAIN = recorded_chain(4)


def cluster(memory_bytes: int, reserved_bytes: int = 0) -> Cluster:
    """Two GPUs with that memory, and a CPU."""
    gpus: list[Json] = [
        {
            "name": f"/device:GPU:{number}",
            "kind": "A100",
            "memory_bytes": memory_bytes,
            "reserved_bytes": reserved_bytes,
        }
        for number in range(2)
    ]
    cpu: Json = {"name": "/device:CPU:0", "kind": "CPU"}
    return parse_cluster(json.dumps({"devices": [*gpus, cpu]}))


def test_a_reserve_is_written_and_read_back() -> None:
    found = cluster(9 * SIZE, SIZE)
    assert [device.usable_bytes for device in found.devices[:2]] == [8 * SIZE] * 2
    assert parse_cluster(json.dumps(cluster_to_json(found))).devices == found.devices
    assert shorthand_of(with_reserve(parse_cluster("2xA100"), 5)) is None, "a shorthand cannot say it"


def test_a_reserve_of_all_gpus_leaves_the_cpu_alone() -> None:
    found = with_reserve(parse_cluster("2xA100+cpu"), 1_500_000_000)
    assert [device.reserved_bytes for device in found.devices] == [1_500_000_000, 1_500_000_000, 0]


@pytest.mark.parametrize(
    ("reserved", "words"),
    [
        ("100", "100 bytes are reserved; allowed: an integer from 0 to 99, less than its memory"),
        ("-1", "devices[0].reserved_bytes: -1; allowed: a number from 0"),
        ("1.5", "devices[0].reserved_bytes: 1.5; allowed: an integer from 0"),
        ('"much"', "devices[0].reserved_bytes: 'much'; allowed: a number from 0"),
        ("1e400", "devices[0].reserved_bytes: inf; allowed: a number from 0"),
    ],
)
def test_a_wrong_reserve_is_refused_in_one_line(reserved: str, words: str) -> None:
    device = f'{{"name": "/device:GPU:0", "kind": "A100", "memory_bytes": 100, "reserved_bytes": {reserved}}}'
    with pytest.raises(ClusterError) as error:
        parse_cluster(f'{{"devices": [{device}]}}')
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "method",
    ["accelerate_auto", "accelerate_sequential", "capacity_greedy", "m_topo", "heft", "local_search"],
)
def test_methods_answer_as_with_so_much_less_memory(method: str) -> None:
    answers = []
    for each in (cluster(9 * SIZE, 3 * SIZE), cluster(6 * SIZE)):
        problem = problem_of(CHAIN, each, RunContext.of(Budget(60)))
        make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
        answers.append((problem.ledger.answer().tolist(), problem.ledger.best_step_time_us))
    assert answers[0] == answers[1]


def test_a_placement_that_needs_the_reserve_does_not_fit_and_both_figures_are_said() -> None:
    everything = np.zeros((1, CHAIN.grouping.group_count), dtype=np.int32)
    needed = int(problem_of(CHAIN, cluster(10**9)).simulator.evaluate(everything).peak_bytes[0, 0])
    fits, over = cluster(needed + SIZE, SIZE), cluster(needed + SIZE, SIZE + 1)
    for each, is_feasible in ((fits, True), (over, False)):
        problem = problem_of(CHAIN, each)
        problem.evaluate(everything)
        assert (problem.ledger.best_step_time_us is not None) == is_feasible
    assert "it needs" not in judgement(CHAIN, fits, {"": 0})
    said = judgement(CHAIN, over, {"": 0})
    whole, reserved = bytes_words(needed + SIZE), bytes_words(SIZE + 1)
    assert (
        f"it needs 1 B more than the {bytes_words(needed - 1)} of GPU 0, which has {whole} with {reserved} reserved"
        in said
    )
