"""A short name of a cluster: its shorthand where it has one."""

from itertools import groupby

from engine.clusters.cluster import Cluster
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.parsing import parse_cluster

OTHERWISE = " (own links or memory)"


def name_of_cluster(cluster: Cluster) -> str:
    """Such as `2xK80+CPU`; what the shorthand does not say, such as slower links, is told after it."""
    runs = [(kind, len(list(run))) for kind, run in groupby(device.kind for device in cluster.devices)]
    name = "+".join(kind if count == 1 else f"{count}x{kind}" for kind, count in runs)
    same = cluster_to_json(parse_cluster(name)) == cluster_to_json(cluster)
    return name if same else name + OTHERWISE
