"""Shapes of drawn networks: connected, acyclic by their numbers, about as large as asked for, each like its name."""

import networkx as nx
import numpy as np
import pytest

from engine import api
from engine.policies.drawn.shapes import LIKE_A_FAMILY, SHAPES


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_edges_lead_to_higher_layers_and_hold_the_graph_together(shape: str, seed: int) -> None:
    edges = SHAPES[shape](60, np.random.default_rng(seed))
    assert len(set(edges)) == len(edges) and all(source < target for source, target in edges)
    graph = nx.DiGraph(edges)
    assert sorted(graph) == list(range(len(graph))), "each number is a layer"
    assert 60 <= len(graph) <= 60 + 130 and nx.is_weakly_connected(graph)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_seed_draws_the_same_and_another_another(shape: str) -> None:
    drawn = [SHAPES[shape](200, np.random.default_rng(seed)) for seed in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1] and any(drawn[0] != other for other in drawn[2:])


def test_a_chain_with_skips_is_no_wider_than_its_name_says() -> None:
    graph = nx.DiGraph(SHAPES["chain with skips"](100, np.random.default_rng(1)))
    assert nx.dag_longest_path_length(graph) == len(graph) - 1


def test_a_u_net_ends_where_it_began_and_joins_equal_depths() -> None:
    graph = nx.DiGraph(SHAPES["U-net"](40, np.random.default_rng(0)))
    joins = [node for node in graph if graph.in_degree(node) == 2]
    assert joins and all(graph.in_degree(node) <= 2 for node in graph)


def test_every_family_has_the_shapes_that_are_left_out_for_it() -> None:
    assert {family for family in api.families() if "_by_" not in family} == set(LIKE_A_FAMILY)
    assert all(set(shapes) < set(SHAPES) for shapes in LIKE_A_FAMILY.values())
