"""Whether a policy's experience reaches a graph and a cluster: it fits any, but was trained on some.

The shared head scores device by device and group by group, so a policy that could be read can place any graph on any
cluster. How far from its training that is, people are told.
"""

from dataclasses import dataclass

from engine.clusters.cluster import Cluster
from engine.clusters.naming import OTHERWISE, name_of_cluster
from engine.policies.card import PolicyCard

MOST_NAMED = 6
"""graphs and clusters that are named, each"""


@dataclass(frozen=True, slots=True)
class PolicyFit:
    """How near a policy's training is to a graph on a cluster."""

    graph_seen: bool
    """whether a training graph has this name"""
    cluster_seen: bool
    """whether it was trained on just such devices and links"""
    trained_on: str
    """families or graphs, and clusters, for people"""

    @property
    def sentences(self) -> str:
        """For people."""
        graph = "A graph of this name was" if self.graph_seen else "This graph was not"
        cluster = {
            (True, True): ", and so was this cluster",
            (True, False): "; this cluster was not",
            (False, True): "; this cluster was",
            (False, False): ", nor was this cluster",
        }[self.graph_seen, self.cluster_seen]
        return f"Trained on {self.trained_on}. {graph} among them{cluster}."


def policy_fit(card: PolicyCard, graph_name: str, cluster: Cluster) -> PolicyFit:
    """How near the training of `card` is to a graph of this name on `cluster`."""
    name = name_of_cluster(cluster)
    return PolicyFit(
        graph_seen=graph_name in card.graphs,
        cluster_seen=name in card.clusters and not name.endswith(OTHERWISE),
        trained_on=f"{_listed(card.families or card.graphs)} on {_listed(card.clusters)}",
    )


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return "nothing that is known"
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
