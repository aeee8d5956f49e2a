"""The experiment on the corpus's policy: which problems, what counts as a gap, and a sweep that never loses."""

import math
from typing import Any

import numpy as np
import pytest

from engine.clusters.parsing import parse_cluster
from engine.policies.drawn.graphs import drawn_graph
from engine.problem import PlacementProblem
from engine.problem.making import problem_of
from experiments.corpus.cached import CorpusGraph
from experiments.corpus_policy.measuring import LISTS, rivals_of, swept
from experiments.corpus_policy.page import gaps_of, page
from experiments.corpus_policy.problems import balanced, measured_problems
from tests.engine.policies.small_policies import small_card


def graph(family: str, digest: int, mode: str = "inference") -> CorpusGraph:
    names = {"library": "drawn", "architecture": f"{family}{digest}", "mode": mode, "family": family, "kind": "chain"}
    figures = dict.fromkeys(("ops", "groups", "edges", "flops", "parameter_bytes", "activation_bytes", "batch"), 1)
    return CorpusGraph(**names, **figures, split="train", digest=f"{digest:016x}", version="1")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def problem() -> PlacementProblem:
    prepared = drawn_graph("branching cells", 24, {"K80": 1.0}, np.random.default_rng(1), trains=False)
    return problem_of(prepared, parse_cluster("2xK80"))


def test_families_and_modes_take_turns() -> None:
    many = [graph("large", number) for number in range(9)]
    few = [graph("small", 20), graph("small", 21, "training")]
    chosen = balanced([*many, *few], 4)
    assert [(each.family, each.mode) for each in chosen[:3]] == [
        ("large", "inference"),
        ("small", "inference"),
        ("small", "training"),
    ]
    assert chosen == balanced([*few, *reversed(many)], 4)
    assert len(balanced([*many, *few], 100)) == 11


def test_each_graph_has_its_own_clusters_whatever_else_is_measured() -> None:
    first = list(measured_problems([graph("a", 1), graph("b", 2)], 2, 2))
    more = list(measured_problems([graph("a", 1), graph("b", 2), graph("c", 3)], 3, 3))
    assert {tuple(each.seed) for each in first} < {tuple(each.seed) for each in more}


def row(**times: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("greedy_us", "best_us", "swept_us", "one_us", "search_us"))
    facts = {"graph": "g", "kind": "decoder", "mode": "training", "devices": 2, "tight": False, "greedy_seconds": 0.1}
    return {**facts, **nothing, "lists_us": dict.fromkeys(LISTS), **times}


def test_a_gap_is_to_the_best_that_anything_has_found() -> None:
    gaps = gaps_of(row(greedy_us=12.0, best_us=11.0, search_us=10.0, lists_us={**dict.fromkeys(LISTS), "heft": 8.0}))
    assert gaps is not None
    assert gaps["greedy"] == pytest.approx(0.5) and gaps["list"] == 0.0
    assert math.isinf(gaps["one"]) and math.isinf(gaps["swept"])
    assert gaps_of(row()) is None


def test_the_page_counts_what_does_not_fit() -> None:
    text = page([row(greedy_us=12.0, search_us=10.0), row(search_us=10.0), row()], small_card(), "Measured.")
    assert "| all | 2 | 20.0 % [does not fit], 1 do not fit | none fits |" in text
    assert "On 1 further problems nothing fits" in text


def test_a_sweep_never_loses_and_ends_where_no_look_at_a_group_helps(problem: PlacementProblem) -> None:
    start = np.arange(problem.group_count, dtype=np.int32) % 2
    times = [problem.simulator.evaluate(each[None]).step_time_us[0] for each in (start, swept(problem, start))]
    assert times[1] < times[0]


def test_rivals_are_measured_where_they_fit(problem: PlacementProblem) -> None:
    rivals = rivals_of(problem, 200)
    assert rivals.search_us is not None and rivals.one_us is not None
    assert rivals.search_us <= rivals.one_us
    assert set(rivals.lists_us) == set(LISTS) and None not in rivals.lists_us.values()
    assert rivals.devices == 2
