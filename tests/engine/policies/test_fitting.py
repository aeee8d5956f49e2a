"""How near a policy's training is to a graph and a cluster."""

import dataclasses

import numpy as np
import pytest

from engine.api import parse_cluster, policy_fit
from engine.clusters.naming import name_of_cluster

from .small_policies import small_card


@pytest.mark.parametrize(
    ("graph", "cluster", "words"),
    [
        ("nmt-00", "2xK80", "A graph of this name was among them, and so was this cluster."),
        ("nmt-00", "8xK80", "A graph of this name was among them; this cluster was not."),
        ("nmt-09", "4xv100 + cpu", "This graph was not among them; this cluster was."),
        ("nmt-09", "K80+V100", "This graph was not among them, nor was this cluster."),
    ],
)
def test_it_says_what_was_seen(graph: str, cluster: str, words: str) -> None:
    fit = policy_fit(small_card(), graph, parse_cluster(cluster))
    assert fit.sentences == f"Trained on nmt on 2xK80, 4xV100+CPU. {words}"


def test_a_long_list_is_cut() -> None:
    card = dataclasses.replace(small_card(), families=(), graphs=tuple(f"g{index}" for index in range(9)))
    assert policy_fit(card, "g8", parse_cluster("2xK80")).trained_on.startswith("g0, g1, g2, g3, g4, g5 and 3 more on")


@pytest.mark.parametrize("text", ["2xK80", "K80+2xV100", "4xV100+CPU"])
def test_a_cluster_is_named_by_its_shorthand(text: str) -> None:
    assert name_of_cluster(parse_cluster(text)) == text


def test_a_cluster_with_links_of_its_own_is_not_the_shorthand_s() -> None:
    slower = parse_cluster("2xK80")
    slower = dataclasses.replace(slower, bandwidth_bytes_per_us=np.full((2, 2), 100.0))
    assert name_of_cluster(slower) == "2xK80 (own links or memory)"
    card = dataclasses.replace(small_card(), clusters=(name_of_cluster(slower),))
    assert not policy_fit(card, "nmt-00", slower).cluster_seen
