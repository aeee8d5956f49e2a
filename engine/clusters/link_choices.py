"""The links that a shorthand may name, as `2xH100+cpu@pcie`, in place of the usual ones of its kinds."""

from dataclasses import dataclass

from engine.clusters.device_kinds import DeviceKind
from engine.clusters.hosts import GBIT, NETWORK_LATENCY_US, Host, Link
from engine.errors import ClusterError, shortened


@dataclass(frozen=True, slots=True)
class LinkChoice:
    """Machines that stand otherwise than the usual ones of their kinds."""

    name: str
    """after the `@` of a shorthand"""
    label: str
    hosts: int = 1
    """machines, each with all devices of the shorthand"""
    family: str = ""
    """the beginning of the name of the link between two GPUs of a machine; empty: the usual link of their kind"""
    network_gigabits: float = 0.0
    """Gb/s between two machines"""
    is_shared: bool = False
    """whether a machine's devices share that, or each GPU has as much"""
    source: str = ""

    def peer(self, kind: str, host: Host) -> Link:
        """The link between two GPUs of `kind` in one machine. Raises ClusterError where no such link exists."""
        link = self._peer(host)
        if link is not None:
            return link
        usual = f"{host.peer.name}, without @{self.name}"
        raise ClusterError(f"{kind} has no {self.family}", where=f"@{self.name}", allowed=usual, field="cluster")

    def fits(self, kind: DeviceKind) -> bool:
        """Whether devices of `kind` can be linked so."""
        return kind.device_class == "CPU" or self._peer(kind.host) is not None

    def _peer(self, host: Host) -> Link | None:
        return next((link for link in (host.peer, host.board) if link.name.startswith(self.family)), None)

    def network(self, devices: int) -> Link:
        """The link of one of a machine's `devices` to another machine."""
        gigabits = self.network_gigabits / devices if self.is_shared else self.network_gigabits
        return Link(self.label, gigabits * GBIT, NETWORK_LATENCY_US, self.source)


_ROWS = (
    LinkChoice("pcie", "one machine, PCIe", family="PCIe"),
    LinkChoice("nvlink", "one machine, NVLink", family="NVLink"),
    LinkChoice(
        "ethernet",
        "two machines, Ethernet of 100 Gb/s",
        hosts=2,
        network_gigabits=100,
        is_shared=True,
        source="IEEE 802.3ba: 100 Gb/s, one adapter in each machine",
    ),
    LinkChoice(
        "infiniband",
        "two machines, InfiniBand of 400 Gb/s a GPU",
        hosts=2,
        network_gigabits=400,
        source="InfiniBand Trade Association, NDR: 400 Gb/s on four lanes, one adapter for each GPU",
    ),
)

LINK_CHOICES: dict[str, LinkChoice] = {row.name: row for row in _ROWS}
"""name → choice, in the order of the forms"""


def link_choice(name: str) -> LinkChoice:
    """The choice of that name, in any case. Raises ClusterError."""
    choice = LINK_CHOICES.get(name.strip().lower())
    if choice is None:
        allowed = ", ".join(f"@{name}" for name in LINK_CHOICES)
        raise ClusterError("these links are not known", where=f"@{shortened(name)}", allowed=allowed, field="cluster")
    return choice


def choices_of_kind(kind: DeviceKind) -> tuple[str, ...]:
    """The names of the choices that fit `kind`."""
    return tuple(choice.name for choice in LINK_CHOICES.values() if choice.fits(kind))
