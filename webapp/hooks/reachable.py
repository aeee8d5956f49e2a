"""Which addresses of the network webhooks may reach: public ones, and those that the operator allows.

A name is judged by the addresses to which it resolves, at the moment of the connection, and the connection goes to one
of them: what is resolved is what is reached.
"""

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Self

from django.conf import settings

from webapp.accounts.addresses import IpAddress

_NOT_PUBLIC = tuple(
    ip_network(text)
    for text in (
        *("192.0.0.0/24", "192.88.99.0/24", "100.64.0.0/10", "198.18.0.0/15"),
        *("64:ff9b:1::/48", "2001::/23", "5f00::/16", "fec0::/10", "100::/64", "::/96"),
        "168.63.129.16/32",  # Azure's services for its own machines, metadata among them
    )
)
"""networks that Python's own lists, which differ between its versions, may call public; the private ones are in them"""
_ASK = "An operator can allow it in PLACETO_HOOKS_ALLOWED."
_NAT64 = ip_network("64:ff9b::/96")


class UnreachableError(OSError):
    """A connection that our rules do not allow: one sentence for people. Libraries take it for one that failed."""


@dataclass(frozen=True, slots=True)
class AllowedPlaces:
    """What the operator allows beside public addresses."""

    names: frozenset[str]
    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]

    @classmethod
    def of(cls, entries: Iterable[str]) -> Self:
        """Of names, addresses and networks."""
        names, networks = set(), []
        for entry in entries:
            try:
                networks.append(ip_network(entry, strict=False))
            except ValueError:
                names.add(entry.lower().rstrip("."))
        return cls(frozenset(names), tuple(networks))

    @classmethod
    def of_settings(cls) -> Self:
        """Those of PLACETO_HOOKS_ALLOWED."""
        return cls.of(settings.HOOKS_ALLOWED)

    def has_name(self, host: str) -> bool:
        """Whether everything under this name is allowed."""
        return host.lower().rstrip(".") in self.names

    def has_address(self, address: IpAddress) -> bool:
        """Whether it is in one of the networks."""
        return any(address in network for network in self.networks)

    def refusal(self, address: IpAddress) -> str:
        """Why this address is not to be reached; empty if it may be."""
        if self.has_address(address):
            return ""
        if not is_public(address) or _is_hidden_private(address):
            return f"The address {address} is not a public one. {_ASK}"
        return f"The address {address} is this machine's own. {_ASK}" if is_own(address) else ""


def is_public(address: IpAddress) -> bool:
    """Whether it is one of the public internet, by itself."""
    special = address.is_multicast or address.is_reserved or address.is_unspecified or address.is_link_local
    listed = any(address in network for network in _NOT_PUBLIC)
    return address.is_global and not special and not listed and not address.is_loopback


def is_own(address: IpAddress) -> bool:
    """Whether a connection to it would come from it: a public address of this machine, whose services may trust it.

    Nothing is sent: to connect a datagram socket only chooses the way.
    """
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return address_of(probe.getsockname()[0]) == address
    except OSError:
        return False  # there is no way to it at all


def _is_hidden_private(address: IpAddress) -> bool:
    """Whether an IPv6 address leads to an IPv4 address that is not public."""
    return any(not is_public(inner) for inner in _ipv4_within(address))


def _ipv4_within(address: IpAddress) -> list[IPv4Address]:
    if isinstance(address, IPv4Address):
        return []
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [inner for inner in found if inner is not None]


def address_of(text: str) -> IpAddress | None:
    """The address that `text` spells, without an IPv6 zone; None for a name."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None
