"""The devices of a form: one text, a shorthand, cluster JSON or the name of a measured machine; and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby, permutations

import numpy as np

from engine import api
from webapp.json_field import to_text
from webapp.projects.models import Project
from webapp.runs.cluster_words import cluster_words
from webapp.runs.machines import OTHER_MACHINE, OWN_CHOICE, MachineChoice
from webapp.runs.models import Run
from webapp.runs.with_cluster import WithCluster

FIRST_DEVICES = "2xH100+CPU"
"""where the project has no run"""
BYTES_PER_US_IN_A_GB_PER_S = 1000.0
GIBIBYTE = 1024**3
NOT_OFFERED = "it is not offered now; a measured machine is offered only while a worker on it runs"

Machines = Mapping[str, MachineChoice]
"""by the text that names them"""


@dataclass(frozen=True, slots=True)
class DescribedDevices:
    """What a text says, as parsed, or why it says nothing."""

    words: str = ""
    """devices, memory and links on one line"""
    short_words: str = ""
    """`2 × H100 + CPU`"""
    shorthand: api.Shorthand | None = None
    """None where rows of devices cannot show it"""
    machine: str = ""
    """the text, if it names a measured machine"""
    has_cpu: bool = False
    error: str = ""

    def to_json(self) -> dict[str, api.Json]:
        """For the builder in the browser: `rows` is null where it cannot show the devices."""
        terms = None if self.shorthand is None else self.shorthand.terms
        rows: api.Json = (
            None
            if terms is None
            else [{"count": term.count, "kind": term.kind, "memory_gib": term.memory_gib} for term in terms]
        )
        return {
            "words": self.words,
            "short_words": self.short_words,
            "rows": rows,
            "links": self.shorthand.links if self.shorthand else "",
            "machine": self.machine,
            "has_cpu": self.has_cpu,
            "error": self.error,
        }


def parse_devices(text: str, machines: Machines) -> api.Cluster:
    """The cluster that `text` names or describes. Raises ClusterError."""
    name = text.strip()
    if name in machines:
        return machines[name].cluster
    if name == OWN_CHOICE or name.startswith(OTHER_MACHINE):
        raise api.ClusterError(NOT_OFFERED, where=api.shortened(name), allowed="other devices", field="cluster")
    return api.parse_cluster(text)


def describe_devices(text: str, machines: Machines) -> DescribedDevices:
    """What `text` says."""
    try:
        cluster = parse_devices(text, machines)
    except api.ClusterError as error:
        return DescribedDevices(error=str(error))
    name = text.strip()
    return DescribedDevices(
        words=f"{machines[name].words}: {devices_words(cluster)}" if name in machines else devices_words(cluster),
        short_words=machines[name].words if name in machines else cluster_words(api.cluster_to_json(cluster)),
        shorthand=None if name in machines else api.shorthand_of(cluster),
        machine=name if name in machines else "",
        has_cpu=any(device.is_cpu for device in cluster.devices),
    )


def device_choices(machines: Machines, described: DescribedDevices) -> dict[str, api.Json]:
    """For the builder in the browser: kinds, links and measured machines, and what the field says now."""
    kinds: list[api.Json] = [
        {"name": kind.name, "memory_gib": kind.memory_bytes / GIBIBYTE, "links": list(kind.links)}
        for kind in api.device_kinds()
    ]
    links: list[api.Json] = [{"name": name, "label": label} for name, label in api.link_choices().items()]
    offered: list[api.Json] = [{"name": name, "label": each.words} for name, each in machines.items()]
    return {"kinds": kinds, "links": links, "machines": offered, "described": described.to_json()}


def devices_words(cluster: api.Cluster) -> str:
    """Devices, memory and links on one line: `2 × H100 with 80 GiB each + CPU with 488 GiB; between GPUs 450 GB/s`."""
    machines = list(dict.fromkeys(device.machine for device in cluster.devices))
    in_each = [[device for device in cluster.devices if device.machine == machine] for machine in machines]
    texts = list(dict.fromkeys(_alike_words(devices) for devices in in_each))
    alike = f"{len(machines)} machines, each {texts[0]}" if len(machines) > 1 else texts[0]
    words = alike if len(texts) == 1 else " and ".join(texts)
    return "; ".join([words, *_speeds(cluster)])


def _alike_words(devices: list[api.Device]) -> str:
    alike = groupby(devices, key=lambda device: (device.kind, device.memory_bytes, device.reserved_bytes))
    parts = []
    for (kind, memory_bytes, reserved_bytes), group in alike:
        count = len(list(group))
        many, each = (f"{count} × ", " each") if count > 1 else ("", "")
        reserved = f", {_number(reserved_bytes / GIBIBYTE)} GiB reserved" if reserved_bytes else ""
        parts.append(f"{many}{kind} with {_number(memory_bytes / GIBIBYTE)} GiB{each}{reserved}")
    return " + ".join(parts)


def _speeds(cluster: api.Cluster) -> list[str]:
    """How fast the links are, by what they join: `between GPUs 450 GB/s`."""
    found: dict[str, set[float]] = {}
    kinds = [(device.machine, device.is_cpu) for device in cluster.devices]
    alike: dict[tuple[tuple[str, bool], tuple[str, bool]], str] = {}
    for source, target in permutations(dict.fromkeys(kinds), 2):
        alike[source, target] = _joined(source, target)
    bandwidths = cluster.bandwidth_bytes_per_us
    of_kind = {kind: np.array([index for index, other in enumerate(kinds) if other == kind]) for kind in set(kinds)}
    for kind, devices in of_kind.items():
        if len(devices) > 1:
            among = bandwidths[np.ix_(devices, devices)][~np.eye(len(devices), dtype=bool)]
            found.setdefault("between CPUs" if kind[1] else "between GPUs", set()).update(among.tolist())
    for (source, target), words in alike.items():
        found.setdefault(words, set()).update(bandwidths[np.ix_(of_kind[source], of_kind[target])].ravel().tolist())
    order = ("between GPUs", "to the CPU", "between CPUs", "between machines")
    return [f"{words} {_range(found[words])} GB/s" for words in order if words in found]


def _joined(source: tuple[str, bool], target: tuple[str, bool]) -> str:
    return "to the CPU" if source[0] == target[0] else "between machines"


def _range(speeds: set[float]) -> str:
    low, high = (_number(speed / BYTES_PER_US_IN_A_GB_PER_S) for speed in (min(speeds), max(speeds)))
    return low if low == high else f"{low} to {high}"


def _number(value: float) -> str:
    """Four digits at most."""
    return f"{float(f'{value:.4g}'):g}"


def text_of_cluster(cluster: api.Cluster, machines: Machines) -> str:
    """The text of the field that gives `cluster`."""
    asked = to_text(api.cluster_to_json(cluster))
    named = (name for name, machine in machines.items() if to_text(api.cluster_to_json(machine.cluster)) == asked)
    return next(named, "") or api.cluster_text(cluster)


def devices_used_last(project: Project, machines: Machines) -> str:
    """The text for the devices of the project's newest run; those of `FIRST_DEVICES` where it has none."""
    run = Run.objects.filter(project=project).only("cluster").first()
    return FIRST_DEVICES if run is None else devices_of_row(run, machines)


def devices_of_row(row: WithCluster, machines: Machines) -> str:
    """The text for the devices of a run or a comparison."""
    try:
        return text_of_cluster(row.cluster_value, machines)
    except api.ClusterError:  # of a version that allowed other clusters
        return FIRST_DEVICES
