"""Every operation of the API, from the resolver."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

from tests.webapp.access.addresses import API, Address


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of an address."""

    name: str
    method: str
    address: Address


def all_operations() -> list[Operation]:
    """Sorted by name."""
    found = {operation.name: operation for operation in _walk(get_resolver())}
    return [found[name] for name in sorted(found)]


def names_of_the_rest() -> list[str]:
    """The names of addresses of the API that are no operation."""
    return sorted({name for name, pattern, view in _patterns(get_resolver()) if not hasattr(view, "operations")})


def _walk(resolver: URLResolver) -> Iterator[Operation]:
    for _, pattern, view in _patterns(resolver):
        for method, function in getattr(view, "operations", {}).items():
            yield Operation(function.__name__, method, Address(function.__name__, pattern))


def _patterns(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, str, object]]:
    for part in resolver.url_patterns:
        pattern = before + str(part.pattern)
        if isinstance(part, URLResolver):
            yield from _patterns(part, pattern)
        elif isinstance(part, URLPattern) and pattern.startswith(API):
            yield f"api:{part.name}", pattern, part.callback
