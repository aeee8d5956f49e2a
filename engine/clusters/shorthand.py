"""The shorthand of a cluster: `2xK80+cpu`, `4xA100:80GiB+cpu@pcie`.

A sum of `KIND` or `COUNTxKIND`, each with its memory where that is not the kind's, and at the end the links where they
are not the usual ones of the kinds.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import groupby, product

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import MOST_DEVICES, MOST_MEMORY_BYTES, Cluster, Contention, Device, MemoryModel
from engine.clusters.device_kinds import GIB, canonical_kind, class_of_kind, default_memory_bytes, host_of_kind
from engine.clusters.hosts import Link
from engine.clusters.link_choices import LINK_CHOICES, LinkChoice, link_choice
from engine.clusters.usual_links import (
    common_op_rest_us,
    link_of_board,
    usual_link_rest_us,
    usual_links,
    usual_op_rests_us,
)
from engine.errors import ClusterError, shortened

EXAMPLES = "a shorthand such as 2xK80 or 4xV100+cpu, or cluster JSON"
MEMORY_ALLOWED = f"a number of GiB above 0, at most {MOST_MEMORY_BYTES // GIB}, as A100:40GiB"
MACHINE = "/job:worker/task:{}"
"""of the machines of a choice that has several"""

_TERM = re.compile(r"(?:([0-9]+)\s*[xX]\s*)?([A-Za-z][A-Za-z0-9-]*)(?:\s*:\s*([0-9.]{1,20})\s*(?:[gG][iI]?[bB])?)?")


@dataclass(frozen=True, slots=True)
class Term:
    """Devices of one kind and memory that stand one after the other."""

    count: int
    kind: str
    memory_bytes: int
    """of each"""

    @property
    def text(self) -> str:
        """`2xA100:80GiB`; the memory of the kind is left out."""
        count = "" if self.count == 1 else f"{self.count}x"
        usual = self.memory_bytes == default_memory_bytes(self.kind)
        return f"{count}{self.kind}" + ("" if usual else f":{self.memory_gib:.12g}GiB")

    @property
    def memory_gib(self) -> float:
        """The memory of each, in GiB."""
        return self.memory_bytes / GIB


@dataclass(frozen=True, slots=True)
class Shorthand:
    """A cluster as its shorthand says it."""

    terms: tuple[Term, ...]
    links: str = ""
    """a name of `LINK_CHOICES`; empty: the usual links of the kinds"""

    @property
    def text(self) -> str:
        """As a person writes it."""
        return "+".join(term.text for term in self.terms) + (f"@{self.links}" if self.links else "")

    @property
    def cluster(self) -> Cluster:
        """Devices with default names, links and rests. Raises ClusterError for links that its kinds do not have."""
        choice = LINK_CHOICES.get(self.links)
        machines = [MACHINE.format(number) for number in range(choice.hosts)] if choice and choice.hosts > 1 else [""]
        devices = [device for machine in machines for device in self._devices(machine)]
        if len(devices) > MOST_DEVICES:
            allowed = f"1 to {MOST_DEVICES} devices"
            raise ClusterError(f"{len(devices)} devices", where="cluster", allowed=allowed, field="cluster")
        bandwidths, latencies_us = usual_links(devices) if choice is None else _chosen_links(devices, choice)
        op_rest_us, op_rest_of_kind = common_op_rest_us(usual_op_rests_us(devices))
        return Cluster(
            devices=tuple(devices),
            contention=Contention.BUS,
            bandwidth_bytes_per_us=bandwidths,
            latency_us=latencies_us,
            link_rest_us=usual_link_rest_us(devices),
            op_rest_us=op_rest_us,
            op_rest_of_kind=op_rest_of_kind,
            memory_model=MemoryModel.FULL,
        )

    def _devices(self, machine: str) -> list[Device]:
        devices = []
        numbers = {"GPU": 0, "CPU": 0}
        for term in self.terms:
            device_class = class_of_kind(term.kind)
            for _ in range(term.count):
                name = f"{machine}/device:{device_class}:{numbers[device_class]}"
                numbers[device_class] += 1
                devices.append(Device(name, term.kind, term.memory_bytes))
        return devices


def parse_shorthand(text: str) -> Shorthand:
    """The shorthand in `text`, in any case. Raises ClusterError."""
    sum_of_terms, at, links = text.partition("@")
    terms = tuple(_term(term) for term in sum_of_terms.split("+"))
    if (count := sum(term.count for term in terms)) > MOST_DEVICES:
        allowed = f"1 to {MOST_DEVICES} devices"
        raise ClusterError(f"{count} devices", where="cluster", allowed=allowed, field="cluster")
    return Shorthand(terms, link_choice(links).name if at else "")


def shorthand_of(cluster: Cluster) -> Shorthand | None:
    """The shorthand that describes all of `cluster`; None where none does."""
    if cluster.calibration is not None or any(device.own for device in cluster.devices):
        return None
    machines = Counter(device.machine for device in cluster.devices)
    choices = ["", *(choice.name for choice in LINK_CHOICES.values() if choice.hosts == len(machines))]
    in_one = cluster.devices[: cluster.device_count // len(machines)]
    alike = groupby(in_one, key=lambda device: (device.kind, device.memory_bytes))
    terms = tuple(Term(len(list(devices)), *kind_and_memory) for kind_and_memory, devices in alike)
    return next((found for links in choices if _describes(found := Shorthand(terms, links), cluster)), None)


def _describes(shorthand: Shorthand, cluster: Cluster) -> bool:
    try:
        parsed = parse_shorthand(shorthand.text).cluster  # its memory is written with some digits
    except ClusterError:
        return False
    apart = ~np.eye(cluster.device_count, dtype=bool)
    return (
        parsed.devices == cluster.devices
        and parsed.contention == cluster.contention
        and parsed.memory_model == cluster.memory_model
        and parsed.link_rest_us == cluster.link_rest_us
        and parsed.op_rests_us.tolist() == cluster.op_rests_us.tolist()
        and np.array_equal(parsed.bandwidth_bytes_per_us[apart], cluster.bandwidth_bytes_per_us[apart])
        and np.array_equal(parsed.latency_us[apart], cluster.latency_us[apart])
    )


def _term(text: str) -> Term:
    match = _TERM.fullmatch(text.strip())
    if match is None:
        where = shortened(text.strip()) or "+"
        raise ClusterError("this is not a number of devices", where=where, allowed=EXAMPLES, field="cluster")
    count_text, kind = match.group(1) or "1", canonical_kind(match.group(2))
    count = int(count_text) if len(count_text) <= len(str(MOST_DEVICES)) else MOST_DEVICES + 1
    if not 1 <= count <= MOST_DEVICES:
        what, allowed = f"{shortened(count_text, 20)} devices", f"1 to {MOST_DEVICES} devices"
        raise ClusterError(what, where=kind, allowed=allowed, field="cluster")
    return Term(count, kind, _memory_bytes(kind, match.group(3)))


def _memory_bytes(kind: str, gib_text: str | None) -> int:
    """Raises ClusterError."""
    if gib_text is None:
        return default_memory_bytes(kind)
    try:
        gib = float(gib_text)
    except ValueError:
        gib = math.nan
    memory_bytes = round(gib * GIB) if math.isfinite(gib) else 0
    if not 1 <= memory_bytes <= MOST_MEMORY_BYTES:
        where = f"memory of {kind}"
        raise ClusterError(f"{shortened(gib_text)} GiB", where=where, allowed=MEMORY_ALLOWED, field="cluster")
    return memory_bytes


def _chosen_links(devices: list[Device], choice: LinkChoice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bandwidths in bytes a µs and latencies in µs, [devices, devices]; diagonals mean nothing. Raises ClusterError."""
    if choice.family and all(device.is_cpu for device in devices):
        what, allowed = "there is no GPU", "a GPU, or the usual links"
        raise ClusterError(what, where=f"@{choice.name}", allowed=allowed, field="cluster")
    count = len(devices)
    bandwidths, latencies_us = np.empty((count, count)), np.empty((count, count))
    network = choice.network(count // choice.hosts)
    for (row, source), (column, target) in product(enumerate(devices), repeat=2):
        link = _link_in(source, target, choice) if source.machine == target.machine else network
        bandwidths[row, column], latencies_us[row, column] = link.bandwidth_bytes_per_us, link.latency_us
    return bandwidths, latencies_us


def _link_in(source: Device, target: Device, choice: LinkChoice) -> Link:
    """The link of two devices in one machine. Raises ClusterError."""
    if source.kind != target.kind or source.is_cpu:
        return link_of_board(source, target)
    return choice.peer(source.kind, host_of_kind(source.kind))
