"""The benchmark's sample: stable, stratified, kept in a file; and its clusters."""

from pathlib import Path

import numpy as np
import pytest

from engine.errors import SettingsError
from engine.problem.making import problem_of
from engine.problem.trivial import one_device_placements
from engine.zoo.random_graphs import random_graph
from experiments.benchmark.clusters import BENCHMARK_CLUSTERS, TIGHT_SHARE, with_tight_memory
from experiments.benchmark.sample import draw_sample, recording_of, sampled_graphs, size_of, stratum_of
from experiments.corpus.cached import CorpusGraph
from tests.experiments.drawn_corpus import listed_graph, write_list


def many_graphs() -> list[CorpusGraph]:
    """Twelve strata, of 2 to 35 graphs in up to five families."""
    strata = [(kind, mode, ops) for kind in "ab" for mode in ("inference", "training") for ops in (10, 2000, 9000)]
    return [
        listed_graph(f"{number}_{index}", kind=kind, mode=mode, ops=ops, family=f"{kind}{index % 5}")
        for number, (kind, mode, ops) in enumerate(strata)
        for index in range(2 + 3 * number)
    ]


def test_the_strata_take_turns_and_a_small_stratum_is_taken_whole() -> None:
    graphs = many_graphs()
    sample = draw_sample(graphs, 60)
    counts = [
        sum(stratum_of(graph) == stratum for graph in sample) for stratum in dict.fromkeys(map(stratum_of, graphs))
    ]
    assert sum(counts) == len({graph.name for graph in sample}) == 60
    assert counts[0] == 2 and max(counts) - min(counts[1:]) <= 1


def test_the_first_graphs_are_a_smaller_sample() -> None:
    graphs = many_graphs()
    assert draw_sample(graphs, 12) == draw_sample(graphs, 60)[:12]
    assert len({stratum_of(graph) for graph in draw_sample(graphs, 12)}) == 12


def test_the_families_of_a_stratum_take_turns() -> None:
    graphs = [graph for graph in many_graphs() if stratum_of(graph) == ("b", "training", "large")]
    assert len(graphs) == 35
    assert len({graph.family for graph in draw_sample(graphs, 5)}) == 5


def test_neither_order_nor_other_strata_nor_the_last_graphs_change_it() -> None:
    graphs = many_graphs()
    assert draw_sample(reversed(graphs), 60) == draw_sample(graphs, 60)
    taken = set(draw_sample(graphs, 60))
    without = [graph for graph in graphs if graph in taken]
    assert set(draw_sample(without, 60)) == taken
    assert draw_sample(graphs, 60, seed=1) != draw_sample(graphs, 60)


def test_sizes() -> None:
    assert [size_of(listed_graph("x", ops=ops)) for ops in (1000, 1001, 4000, 4001)] == [
        *("small", "medium", "medium", "large"),
    ]


def test_the_file_keeps_the_sample_and_a_changed_corpus_is_refused(tmp_path: Path) -> None:
    graphs = [listed_graph(f"g{index}") for index in range(4)]
    other_side = listed_graph("seen", split="train")
    listed = write_list(tmp_path, [*graphs, other_side])
    said: list[str] = []
    first = sampled_graphs("test", tmp_path / "out", listed, said.append)
    assert said == ["drew 4 of 4 graphs of the test side"] and other_side not in first
    write_list(tmp_path, [*graphs, listed_graph("new")])
    assert sampled_graphs("test", tmp_path / "out", listed, said.append) == first
    assert sampled_graphs("development", tmp_path / "out", listed, said.append) == []
    write_list(tmp_path, graphs[:3])
    with pytest.raises(SettingsError, match=r"drawn/g3 inference: the corpus's list has no such graph"):
        sampled_graphs("test", tmp_path / "out", listed, said.append)
    write_list(tmp_path, [*graphs[:3], listed_graph("g3", digest="another")])
    with pytest.raises(SettingsError, match=r"another digest; .*remove benchmark_sample\.json"):
        sampled_graphs("test", tmp_path / "out", listed, said.append)


def test_anything_that_the_list_says_is_part_of_a_recording() -> None:
    assert len({recording_of(listed_graph("g", **more)) for more in ({}, {"batch": 2}, {"flops": 5})}) == 3  # type: ignore[arg-type]


def test_the_six_clusters() -> None:
    counts = [row.cluster.device_count for row in BENCHMARK_CLUSTERS.values()]
    assert (len(counts), min(counts), max(counts)) == (6, 2, 16)
    hosts = {name: len({each.machine for each in row.cluster.devices}) for name, row in BENCHMARK_CLUSTERS.items()}
    assert [name for name, count in hosts.items() if count == 2] == ["two_hosts", "sixteen"]
    kinds = {name: len({each.kind for each in row.cluster.devices}) for name, row in BENCHMARK_CLUSTERS.items()}
    assert [name for name, count in kinds.items() if count == 2] == ["unequal"]


def test_tight_memory_just_does_not_hold_a_step_on_one_device() -> None:
    problem = problem_of(random_graph("layered", 30, np.random.default_rng(0)), BENCHMARK_CLUSTERS["tight"].cluster)
    tight = with_tight_memory(problem)
    peaks = tight.simulator.evaluate(one_device_placements(tight)).peak_bytes.max(axis=1)
    assert (peaks > tight.memory_bytes).all()
    assert np.allclose(tight.memory_bytes, TIGHT_SHARE * peaks.min(), rtol=0.01)
