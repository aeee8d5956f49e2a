"""Every address of the application: its name, its pattern, and an address with ids in their places."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

PLACEHOLDER = re.compile(r"<(?:\w+:)?(\w+)>")
OTHER_PACKAGES = ("admin/",)
"""below which another package has its addresses: one class"""
API = "api/"
"""below which the API has its operations, whose table is their own"""


@dataclass(frozen=True, slots=True)
class Address:
    """One address."""

    name: str
    """`runs:detail`; its pattern where it has no name"""
    pattern: str

    def filled(self, values: Mapping[str, object]) -> str:
        """The address with a value for each placeholder."""
        return "/" + PLACEHOLDER.sub(lambda found: str(values[found[1]]), self.pattern)

    @property
    def placeholders(self) -> list[str]:
        """The names of its placeholders."""
        return PLACEHOLDER.findall(self.pattern)


def all_addresses() -> list[Address]:
    """Those of the resolver, sorted, without other packages' and the API's."""
    found = [each for each in _walk(get_resolver()) if not each.pattern.startswith((*OTHER_PACKAGES, API))]
    return sorted(found, key=lambda address: (address.name, address.pattern))


def addresses_of_other_packages() -> list[Address]:
    """The rest."""
    found = [address for address in _walk(get_resolver()) if address.pattern.startswith(OTHER_PACKAGES)]
    return sorted(found, key=lambda address: address.pattern)


def _walk(resolver: URLResolver, before: str = "", names: tuple[str, ...] = ()) -> Iterator[Address]:
    for part in resolver.url_patterns:
        pattern = before + str(part.pattern)
        if isinstance(part, URLPattern):
            yield Address(":".join([*names, part.name]) if part.name else pattern, pattern.replace("^", ""))
        else:
            yield from _walk(part, pattern, (*names, part.namespace) if part.namespace else names)
