"""Where a request comes from: the address of the client, also behind proxies that the operator trusts."""

import ipaddress
import re
from functools import lru_cache
from typing import TypeAlias

from django.conf import settings
from django.http import HttpRequest

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
PORT = re.compile(r"^(?:([0-9.]+)|\[([0-9A-Fa-f:.]+)\])(?::[0-9]+)?$")
"""an address with a port, as some proxies write it"""


def client_address(request: HttpRequest) -> str | None:
    """The client's address: what a trusted proxy says of it, else whom we talk to; None for a socket without one."""
    peer = peer_of(request)
    if peer is None or not _is_trusted(peer):
        return None if peer is None else str(peer)
    for word in reversed(request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")):
        hop = _parsed(PORT.sub(r"\1\2", word.strip()))
        if hop is None:
            break  # what stands before it may be anybody's words
        if not _is_trusted(hop):
            return str(hop)
    return str(peer)


def is_from_trusted_proxy(request: HttpRequest) -> bool:
    """Whether a proxy that the operator lists has sent it, so that its headers count."""
    peer = peer_of(request)
    return peer is not None and _is_trusted(peer)


def peer_of(request: HttpRequest) -> IpAddress | None:
    """The address of whom we talk to."""
    return _parsed(request.META.get("REMOTE_ADDR", ""))


def is_from_this_machine(request: HttpRequest) -> bool:
    """Whether it reached the server at an address that this machine alone can reach."""
    server = getattr(request, "scope", {}).get("server")
    address = _parsed(str(server[0])) if server else None
    return address is None or address.is_loopback


def is_forwarded(request: HttpRequest) -> bool:
    """Whether a proxy has passed it on, perhaps from another machine."""
    return any(name in request.META for name in ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP"))


def _is_trusted(address: IpAddress) -> bool:
    return any(address in network for network in trusted_networks(tuple(settings.TRUSTED_PROXIES)))


@lru_cache(maxsize=8)
def trusted_networks(words: tuple[str, ...]) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """The networks that `words` name. Raises ValueError."""
    return tuple(ipaddress.ip_network(word, strict=False) for word in words)


def _parsed(word: str) -> IpAddress | None:
    try:
        address = ipaddress.ip_address(word.strip())
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address
