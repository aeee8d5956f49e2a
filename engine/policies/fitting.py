"""Compares a policy's training with a graph and a cluster: the policy fits any, but was trained on some.

The shared head scores device by device and group by group, so a policy can place any graph on any cluster. The sentence
states how far these are from its training, as far as its card shows: the names of its training graphs, and its
clusters' kinds and numbers of devices and whether their links and memory are the usual ones.
"""

import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum

from engine.clusters.cluster import Cluster
from engine.clusters.device_kinds import host_of_kind
from engine.clusters.hosts import P2_8XLARGE
from engine.clusters.naming import OTHERWISE, name_of_cluster
from engine.clusters.parsing import parse_cluster
from engine.errors import ClusterError
from engine.formats.registry import without_suffix
from engine.policies.card import PolicyCard

MOST_NAMED = 6
"""most graphs, and most clusters, that the sentence names"""
OWN_HOSTS_SINCE = (0, 2)
"""the version since which a shorthand has the links of its kinds' machines; before, all had those of the K80's"""


class GraphFit(Enum):
    """How a graph's name relates to the names on the card."""

    NAMED = "One of its training graphs has this graph's name; whether it is the same graph, the card does not say."
    HELD_OUT = "A graph of this name was held out of its training."
    OTHER = "It was not trained on a graph of this name."


class ClusterFit(Enum):
    """How similar the nearest training cluster is, the most similar first; the order of devices does not count."""

    SAME = "It was trained on this cluster."
    UNKNOWN_LINKS = (
        "It was trained on as many devices of these kinds; whether with the same links and memory, the card does not "
        "say."
    )
    OTHER_LINKS = "It was trained on as many devices of these kinds, but with other links or memory."
    OTHER_NUMBER = "It was not trained on this cluster: on devices of these kinds, but not in this number or mix."
    OTHER_KINDS = "It was not trained on this cluster: never on {kinds}."
    OTHER_KINDS_NAMED = (
        "None of the clusters that its card names has {kinds}; the problems drawn at random have devices of many "
        "speeds."
    )


@dataclass(frozen=True, slots=True)
class PolicyFit:
    """How a policy's training relates to a graph on a cluster."""

    graph: GraphFit
    cluster: ClusterFit
    unseen_kinds: tuple[str, ...]
    """kinds of the cluster's devices that no training cluster had, sorted"""
    all_read: bool
    """whether all training clusters on the card could be read; one with another name than ours could be this one"""
    trained_on: str
    """names of families or graphs, and of clusters, as a text"""

    @property
    def sentences(self) -> str:
        """The comparison as sentences."""
        cluster = self.cluster.value.format(kinds=", ".join(self.unseen_kinds))
        if self.cluster is not ClusterFit.SAME and not self.all_read:
            cluster = f"As far as its card can be read, {cluster[0].lower()}{cluster[1:]}"
        return f"Trained on {self.trained_on}. {self.graph.value} {cluster}"


@dataclass(frozen=True, slots=True)
class _Known:
    """The facts in a cluster's name."""

    kinds: Counter[str]
    """kind → number of devices"""
    usual: bool
    """whether links and memory are those of the shorthand"""


def policy_fit(card: PolicyCard, graph_name: str, cluster: Cluster) -> PolicyFit:
    """Compare the training of `card` with a graph of this name on `cluster`."""
    before = _is_before_own_hosts(card.engine_version)
    read = [_known(name, before) for name in card.clusters]
    trained = [known for known in read if known is not None]
    kinds = Counter(device.kind for device in cluster.devices)
    unseen = kinds.keys() - {kind for known in trained for kind in known.kinds}
    return PolicyFit(
        graph=_graph_fit(card, graph_name),
        cluster=_fit_of_kinds(card) if unseen else _cluster_fit(trained, kinds, cluster),
        unseen_kinds=tuple(sorted(unseen)),
        all_read=len(trained) == len(read),
        trained_on=_trained_on(card),
    )


def _trained_on(card: PolicyCard) -> str:
    graphs = f"{_listed(card.families or card.graphs)} on {_listed(card.clusters)}"
    return graphs + (f" and {card.drawn:,} problems drawn at random" if card.drawn else "")


def _graph_fit(card: PolicyCard, name: str) -> GraphFit:
    """Look up the graph's name on the card; a file's suffix does not count."""
    name = without_suffix(name)
    if name in set(map(without_suffix, card.graphs)):
        return GraphFit.NAMED
    return GraphFit.HELD_OUT if name in {without_suffix(row.graph) for row in card.held_out} else GraphFit.OTHER


def _cluster_fit(trained: list[_Known], kinds: Counter[str], cluster: Cluster) -> ClusterFit:
    """Compare `cluster`, whose kinds are all known, with the clusters in `trained`."""
    links = {known.usual for known in trained if known.kinds == kinds}
    usual = not name_of_cluster(cluster).endswith(OTHERWISE)
    if not links:
        return ClusterFit.OTHER_NUMBER
    if usual and True in links:
        return ClusterFit.SAME
    return ClusterFit.UNKNOWN_LINKS if not usual and False in links else ClusterFit.OTHER_LINKS


def _fit_of_kinds(card: PolicyCard) -> ClusterFit:
    """The fit to a kind that no cluster on the card has: problems drawn at random have kinds without names."""
    return ClusterFit.OTHER_KINDS_NAMED if card.drawn else ClusterFit.OTHER_KINDS


def _is_before_own_hosts(version: str) -> bool:
    match = re.fullmatch(r"([0-9]{1,9})\.([0-9]{1,9})\.[0-9]{1,9}", version)
    return match is not None and (int(match[1]), int(match[2])) < OWN_HOSTS_SINCE


def _known(name: str, before_own_hosts: bool) -> _Known | None:
    """The facts in `name`; None if it is no shorthand, because it was too long or the card is not ours."""
    shorthand = name.removesuffix(OTHERWISE)
    try:
        cluster = parse_cluster(shorthand)
    except ClusterError:
        return None
    same = name_of_cluster(cluster) == shorthand
    kinds = Counter(device.kind for device in cluster.devices)
    moved = before_own_hosts and any(host_of_kind(kind) is not P2_8XLARGE for kind in kinds)
    return _Known(kinds, name == shorthand and not moved) if same else None


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return "nothing that is known"
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
