"""The broker's address in Celery's form and in the form of the Redis client."""

from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from django.core.exceptions import ImproperlyConfigured

_SCHEMES = ("redis", "rediss", "redis+socket", "unix")
LONGEST_SOCKET_PATH_BYTES = 107
"""The system silently cuts a longer path of a unix socket."""


def broker_address(address: str) -> str:
    """Check `address` (REDIS_URL); `unix://PATH` becomes `redis+socket://PATH`."""
    parts = urlsplit(address)
    if parts.scheme not in _SCHEMES:
        raise ImproperlyConfigured(
            f"REDIS_URL={address!r} is invalid; allowed: " + ", ".join(f"{scheme}://…" for scheme in _SCHEMES)
        )
    if parts.scheme == "unix":
        return "redis+socket" + address.removeprefix("unix")
    return address


def redis_address(address: str) -> str:
    """The same address for the Redis client, which names sockets, databases and certificates differently."""
    parts = urlsplit(address)
    scheme = "unix" if parts.scheme == "redis+socket" else parts.scheme
    names = {"virtual_host": "db"}
    query = {names.get(name, name): value for name, value in parse_qsl(parts.query)}
    if "ssl_cert_reqs" in query:
        query["ssl_cert_reqs"] = query["ssl_cert_reqs"].lower().removeprefix("cert_")
    return f"{scheme}://{parts.netloc}{parts.path}" + (f"?{urlencode(query)}" if query else "")


def socket_path(address: str) -> str:
    """The path of the unix socket, or an empty string where the address is not one."""
    parts = urlsplit(address)
    return unquote(parts.netloc + parts.path) if parts.scheme == "redis+socket" else ""
