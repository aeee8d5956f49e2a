"""A cluster with one more device."""

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Device
from engine.clusters.device_kinds import canonical_kind, class_of_kind, default_memory_bytes
from engine.clusters.usual_links import usual_links, usual_op_rests_us
from engine.errors import ClusterError

LinkMatrices = tuple[NDArray[np.float64], NDArray[np.float64]]
"""bandwidths and latencies, [devices, devices]"""


def with_one_more(cluster: Cluster, kind: str) -> Cluster:
    """The cluster with another device of `kind` at its end, which is as the last of its kind is.

    Where all links are the usual ones of their devices, so are those of the new one; else it has the links of the last
    one of its kind. Raises ClusterError for an unknown kind, and where there is no such device to take links from.
    """
    known = {device.kind.lower(): device for device in cluster.devices}
    like = known.get(kind.lower())
    device = _device(cluster, like, canonical_kind(kind) if like is None else like.kind)
    devices = (*cluster.devices, device)
    old, new = usual_links(cluster.devices), usual_links(devices)
    links = new if _are_links_of(cluster, old) else _copied_links(cluster, like, device)
    rests = {**cluster.op_rest_of_kind} if like else {**cluster.op_rest_of_kind, **usual_op_rests_us([device])}
    return replace(
        cluster, devices=devices, bandwidth_bytes_per_us=links[0], latency_us=links[1], op_rest_of_kind=rests
    )


def _device(cluster: Cluster, like: Device | None, kind: str) -> Device:
    machine = like.machine if like else cluster.devices[-1].machine
    device_class = like.device_class if like else class_of_kind(kind)
    stem = f"{machine}/device:{device_class}:"
    taken = [int(each.name.removeprefix(stem)) for each in cluster.devices if re.fullmatch(rf"{stem}\d+", each.name)]
    name = f"{stem}{max(taken, default=-1) + 1}"
    return replace(like, name=name) if like else Device(name, kind, default_memory_bytes(kind))


def _are_links_of(cluster: Cluster, links: LinkMatrices) -> bool:
    apart = ~np.eye(cluster.device_count, dtype=bool)
    own = (cluster.bandwidth_bytes_per_us, cluster.latency_us)
    return all(np.array_equal(one[apart], other[apart]) for one, other in zip(own, links, strict=True))


def _copied_links(cluster: Cluster, like: Device | None, device: Device) -> LinkMatrices:
    """The links with those of `like` for the new device; between both, that of `like` to another of its kind."""
    if like is None:
        what, allowed = "the cluster has links of its own", "a kind of its devices, whose links the new one would have"
        raise ClusterError(what, where=device.kind, allowed=allowed, field="cluster")
    of_kind = [index for index, each in enumerate(cluster.devices) if each.kind == like.kind]
    last, before = of_kind[-1], of_kind[-2:][0]
    pair = usual_links([like, device])
    found = []
    for own, usual in zip((cluster.bandwidth_bytes_per_us, cluster.latency_us), pair, strict=True):
        order = [*range(cluster.device_count), last]
        links = own[np.ix_(order, order)].copy()
        links[last, -1] = own[before, last] if before != last else usual[0, 1]
        links[-1, last] = own[last, before] if before != last else usual[1, 0]
        found.append(links)
    return found[0], found[1]
