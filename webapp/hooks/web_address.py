"""The address of a webhook, read strictly: what is checked is what is sent to."""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urlsplit

import idna

from engine import api
from webapp.hooks.reachable import AllowedPlaces, address_of

LONGEST_TARGET = 2000
USUAL_PORTS = {"http": 80, "https": 443}
LEAST_FREE_PORT = 1024
"""below it, beside the usual ones, other protocols than HTTP have their ports"""
ALLOWED = "an address such as https://hooks.example.org/placeto, without a user name, a password or a fragment"
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_SAFE_IN_PATH = "/%:@!$&'()*+,;=~-._?[]|"


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An address that begins with `http://` or `https://`, in its parts."""

    scheme: str
    host: str
    """ASCII, in lower case; an IPv6 address without brackets"""
    port: int
    path: str
    """with the query, in ASCII"""

    @classmethod
    def read(cls, text: str, allowed: AllowedPlaces) -> Self:
        """Raises SettingsError, without the text: it may hold a token."""
        if len(text) > LONGEST_TARGET:
            raise _refused(f"{len(text):,} characters", f"at most {LONGEST_TARGET:,}")
        if not text.isprintable() or any(character.isspace() or character == "\\" for character in text):
            raise _refused("a blank, a backslash or a control character in the address")
        try:
            parts = urlsplit(text)
            port, name = parts.port, parts.hostname
        except ValueError:
            raise _refused("this is no address") from None
        if parts.scheme not in USUAL_PORTS:
            raise _refused("the address begins neither with https:// nor with http://")
        if "@" in parts.netloc:
            raise _refused("a user name or a password in the address")
        if "#" in text:
            raise _refused("a fragment in the address")
        host = _host(name or "")
        port = USUAL_PORTS[parts.scheme] if port is None else port
        _require_place(host, port, allowed)
        path = quote(parts.path or "/", safe=_SAFE_IN_PATH) + (
            f"?{quote(parts.query, safe=_SAFE_IN_PATH)}" if parts.query else ""
        )
        return cls(parts.scheme, host, port, path)

    @property
    def place(self) -> str:
        """`hooks.example.org`, with the port if it is unusual: what pages show of the address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == USUAL_PORTS[self.scheme] else f"{host}:{self.port}"


def _host(name: str) -> str:
    """The host in ASCII. Raises SettingsError."""
    address = address_of(name)
    if address is not None and "%" not in name:
        return str(address)
    try:
        host = name if name.isascii() else idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError:
        raise _refused("the host's name is invalid") from None
    host = host.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise _refused("the host's name is invalid")
    if _NUMBER.fullmatch(labels[-1]):
        raise _refused("an address of numbers in an unusual form", "four decimal numbers, such as 192.0.2.1")
    return host


def _require_place(host: str, port: int, allowed: AllowedPlaces) -> None:
    """Raise SettingsError for an address or a port that our rules refuse; a name is judged when it is resolved."""
    address = address_of(host)
    is_allowed = allowed.has_name(host) or (address is not None and allowed.has_address(address))
    if is_allowed:
        return
    if address is not None and (sentence := allowed.refusal(address)):
        raise _refused(sentence.removesuffix("."), "public addresses")
    if port not in USUAL_PORTS.values() and port < LEAST_FREE_PORT:
        raise _refused(f"port {port}", f"80, 443, and {LEAST_FREE_PORT} and higher")


def _refused(what: str, allowed: str = ALLOWED) -> api.SettingsError:
    return api.SettingsError(what, allowed=allowed, field="target")
