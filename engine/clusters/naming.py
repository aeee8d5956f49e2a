"""Names a cluster by its shorthand."""

import dataclasses
from itertools import groupby

from engine.clusters.cluster import Cluster, Device
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.parsing import parse_cluster

OTHERWISE = " (own links or memory)"
OWN_KINDS = " (own kinds)"


def name_of_cluster(cluster: Cluster) -> str:
    """The cluster's shorthand, such as `2xK80+CPU`, followed by `OTHERWISE` if it does not describe all of it.

    No shorthand has a kind that the cluster describes itself: `OWN_KINDS` follows. A calibrated cluster has the day of
    its measurements instead.
    """
    runs = [(kind, len(list(run))) for kind, run in groupby(device.kind for device in cluster.devices)]
    name = "+".join(kind if count == 1 else f"{count}x{kind}" for kind, count in runs)
    if cluster.calibration is not None:
        return f"{name} (measured {cluster.calibration.date})"
    if any(device.own for device in cluster.devices):
        return name + OWN_KINDS
    usual = parse_cluster(name)
    renamed = dataclasses.replace(cluster, devices=_with_names_of(usual.devices, cluster.devices))
    return name if cluster_to_json(renamed) == cluster_to_json(usual) else name + OTHERWISE


def _with_names_of(named: tuple[Device, ...], devices: tuple[Device, ...]) -> tuple[Device, ...]:
    """`devices` with the names of `named`, so that a comparison ignores names."""
    return tuple(dataclasses.replace(device, name=other.name) for other, device in zip(named, devices, strict=True))
