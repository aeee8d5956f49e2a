"""How near a policy's training is to a graph and a cluster, as far as its card tells."""

import dataclasses

import numpy as np
import pytest

from engine.api import parse_cluster, policy_fit
from engine.clusters.cluster import Cluster
from engine.clusters.naming import name_of_cluster
from tests.engine.policies.small_policies import small_card

NAMED = "One of its training graphs has this graph's name; whether it is the same graph, the card does not say."
HELD_OUT = "A graph of this name was held out of its training."
UNSEEN = "It was not trained on a graph of this name."


def slower(text: str, bandwidth: float = 100.0) -> Cluster:
    cluster = parse_cluster(text)
    links = np.full_like(cluster.bandwidth_bytes_per_us, bandwidth)
    return dataclasses.replace(cluster, bandwidth_bytes_per_us=links)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ("nmt-00", NAMED),
        ("nmt-00.pb", NAMED),
        ("zwölf", NAMED),
        ("nmt-01", HELD_OUT),
        ("nmt-01.json", HELD_OUT),
        ("nmt-09", UNSEEN),
        ("nmt-00.v2", UNSEEN),
    ],
)
def test_of_graphs_it_compares_the_names_and_says_so(graph: str, words: str) -> None:
    fit = policy_fit(small_card(), graph, parse_cluster("2xK80"))
    assert fit.sentences == f"Trained on nmt on 2xK80, 4xV100+CPU. {words} It was trained on this cluster."


OTHER_LINKS = "It was trained on as many devices of these kinds, but with other links or memory."
UNKNOWN_LINKS = (
    "It was trained on as many devices of these kinds; whether with the same links and memory, the card does not say."
)


@pytest.mark.parametrize(
    ("version", "cluster", "words"),
    [
        ("0.1.0", "4xV100+CPU", OTHER_LINKS),
        ("0.1.0", "2xK80", "It was trained on this cluster."),
        ("0.2.0", "4xV100+CPU", "It was trained on this cluster."),
        ("of another maker", "4xV100+CPU", "It was trained on this cluster."),
    ],
)
def test_before_version_0_2_every_shorthand_had_the_links_of_k80s(version: str, cluster: str, words: str) -> None:
    card = dataclasses.replace(small_card(), engine_version=version)
    assert policy_fit(card, "nmt-09", parse_cluster(cluster)).sentences.endswith(words)


OTHER_NUMBER = "It was not trained on this cluster: on devices of these kinds, but not in this number or mix."


@pytest.mark.parametrize(
    ("clusters", "cluster", "words"),
    [
        (("2xK80", "4xV100+CPU"), parse_cluster("CPU+4xV100"), "It was trained on this cluster."),
        (("2xK80",), slower("2xK80"), OTHER_LINKS),
        ((name_of_cluster(slower("2xK80")),), parse_cluster("2xK80"), OTHER_LINKS),
        ((name_of_cluster(slower("2xK80")),), slower("2xK80"), UNKNOWN_LINKS),
        (("2xK80", name_of_cluster(slower("2xK80"))), slower("2xK80", 9.0), UNKNOWN_LINKS),
        (("2xK80", "4xV100"), parse_cluster("8xK80"), OTHER_NUMBER),
        (("2xK80", "4xV100"), parse_cluster("K80+V100"), OTHER_NUMBER),
        (("2xK80",), parse_cluster("2xK80+P100+CPU"), "It was not trained on this cluster: never on CPU, P100."),
        (
            ("2xK80", "my machine"),
            parse_cluster("P100"),
            "As far as its card can be read, it was not trained on this cluster: never on P100.",
        ),
        ((), parse_cluster("P100"), "It was not trained on this cluster: never on P100."),
    ],
)
def test_of_clusters_it_compares_kinds_numbers_and_whether_links_are_the_usual_ones(
    clusters: tuple[str, ...], cluster: Cluster, words: str
) -> None:
    card = dataclasses.replace(small_card(), clusters=clusters, engine_version="0.2.0")
    assert (
        policy_fit(card, "nmt-09", cluster).sentences.removeprefix(
            f"Trained on nmt on {', '.join(clusters) or 'nothing that is known'}. {UNSEEN} "
        )
        == words
    )


def test_problems_drawn_at_random_may_have_had_devices_like_those_of_another_kind() -> None:
    card = dataclasses.replace(small_card(), clusters=("2xK80",), drawn=9)
    sentences = policy_fit(card, "nmt-09", parse_cluster("2xK80+cpu")).sentences
    assert "None of the clusters that its card names has CPU" in sentences
    assert "never on" not in sentences


def test_a_long_list_is_cut() -> None:
    card = dataclasses.replace(small_card(), families=(), graphs=tuple(f"g{index}" for index in range(9)))
    assert policy_fit(card, "g8", parse_cluster("2xK80")).trained_on.startswith("g0, g1, g2, g3, g4, g5 and 3 more on")


@pytest.mark.parametrize("text", ["2xK80", "K80+2xV100", "4xV100+CPU"])
def test_a_cluster_is_named_by_its_shorthand(text: str) -> None:
    assert name_of_cluster(parse_cluster(text)) == text


def test_a_cluster_with_links_of_its_own_is_not_the_shorthand_s() -> None:
    assert name_of_cluster(slower("2xK80")) == "2xK80 (own links or memory)"


def test_how_devices_are_called_is_neither_links_nor_memory() -> None:
    cluster = parse_cluster("2xK80")
    swapped = dataclasses.replace(cluster, devices=cluster.devices[::-1])
    assert name_of_cluster(swapped) == "2xK80"
