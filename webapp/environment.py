"""Typed values from the environment, with defaults; an invalid one is refused in one clear line."""

import ipaddress
import math
import os
import re
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
_NUMBERS = re.compile(r"[0-9.]+")
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def text(name: str, default: str) -> str:
    """The value of `name` without blanks around it; unset or empty gives `default`."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool) -> bool:
    """True or False; raises ImproperlyConfigured for anything but the usual words."""
    value = text(name, "true" if default else "false").lower()
    if value not in _TRUE + _FALSE:
        raise _odd(name, value, "one of " + ", ".join(_TRUE + _FALSE))
    return value in _TRUE


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    value = text(name, default).lower()
    if value not in allowed:
        raise _odd(name, value, "one of " + ", ".join(allowed))
    return value


def integer(name: str, default: int, *, lowest: int, highest: int) -> int:
    """An integer in a range."""
    value = text(name, str(default))
    allowed = f"an integer from {lowest} to {highest}"
    try:
        number = int(value)
    except ValueError:
        raise _odd(name, value, allowed) from None
    if not lowest <= number <= highest:
        raise _odd(name, value, allowed)
    return number


def seconds(name: str, default: float, *, lowest: float, highest: float) -> float:
    """A duration in seconds in a range."""
    value = text(name, str(default))
    allowed = f"seconds from {lowest:g} to {highest:g}"
    try:
        number = float(value)
    except ValueError:
        raise _odd(name, value, allowed) from None
    if not (math.isfinite(number) and lowest <= number <= highest):
        raise _odd(name, value, allowed)
    return number


def names(name: str, default: tuple[str, ...]) -> list[str]:
    """A list separated by commas."""
    return [part.strip() for part in text(name, ",".join(default)).split(",") if part.strip()]


def networks(name: str) -> list[str]:
    """Addresses or networks, separated by commas."""
    found = names(name, ())
    for word in found:
        try:
            ipaddress.ip_network(word, strict=False)
        except ValueError:
            raise _odd(name, word, "addresses or networks, as in 10.0.0.7, 10.1.0.0/16, fd00::/8") from None
    return found


def header(name: str, default: str) -> str:
    """The name of an HTTP header."""
    value = text(name, default)
    if not re.fullmatch("[A-Za-z0-9-]+", value):
        raise _odd(name, value, "the name of a header: letters, digits and -")
    return value


def web_address(name: str) -> str:
    """An `https` address, or an `http` one of this machine, without query; empty if it is unset."""
    value = text(name, "")
    if value and not (is_safe_address(value) and not set(value) & set("?#@")):
        raise _odd(name, value, "an https:// address without query; http:// for this machine's own addresses alone")
    return value


def is_safe_address(address: str) -> bool:
    """Whether what is sent there can be read by nobody on the way: TLS, or this machine itself."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK))


def place(name: str) -> str:
    """A path of this site, or an address of the web that browsers may be sent to; empty if it is unset."""
    value = text(name, "")
    if value and not re.fullmatch(r"(https?:/)?/[^/\\\s][^\\\s]*", value):
        raise _odd(name, value, "a path such as /oauth2/sign_out, or an http:// or https:// address")
    return value


def require(because: str, *needed: str) -> None:
    """Raise ImproperlyConfigured if one of `needed` is unset."""
    missing = [name for name in needed if not text(name, "")]
    if missing:
        raise ImproperlyConfigured(f"{because} also needs {' and '.join(missing)}")


def places(name: str) -> list[str]:
    """A list of host names, addresses and networks, separated by commas."""
    found = names(name, ())
    for entry in found:
        if not (_is_network(entry) or (_HOST.fullmatch(entry) and not _NUMBERS.fullmatch(entry))):
            raise _odd(name, entry, "host names, addresses and networks such as 10.1.0.0/16, with commas between")
    return found


def folder(name: str, default: Path) -> Path:
    """An absolute folder, created with mode 0700 if it is missing."""
    path = Path(text(name, str(default))).expanduser().resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _odd(name, str(path), f"a folder that can be made and written ({error.strerror})") from None
    return path


def secret(name: str, path: Path) -> str:
    """The value of `name`, or else the secret in `path`, created on first use and readable by its owner alone."""
    given = text(name, "")
    if given:
        return given
    try:
        if not path.exists():
            _write_secret(path)
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _odd(name, str(path), f"a file that can be read and written ({error})") from None


def token(name: str, *, shortest: int) -> str:
    """A secret that others show, in printable ASCII without blanks; empty if it is unset."""
    value = text(name, "")
    if value and (len(value) < shortest or not (value.isascii() and value.isprintable()) or " " in value):
        raise ImproperlyConfigured(f"{name} is invalid; allowed: at least {shortest} ASCII characters without blanks")
    return value


def _write_secret(path: Path) -> None:
    """Put a new secret at `path`. If several processes try at once, one wins and none reads a partial file."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    draft.touch(mode=0o600, exist_ok=False)
    draft.write_text(secrets.token_urlsafe(48), encoding="ascii")
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def _is_network(entry: str) -> bool:
    try:
        ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
    return True


def _odd(name: str, value: str, allowed: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}={value!r} is invalid; allowed: {allowed}")
