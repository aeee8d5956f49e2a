"""Views that answer several methods by a function each, as those of the API do."""

from collections.abc import Callable
from typing import Any

from django.urls import ResolverMatch


def operation_of(view: Callable[..., Any], method: str | None) -> Callable[..., Any]:
    """The function that answers `method`, with its marks: the view itself, unless it has one for each method."""
    operations: dict[str | None, Callable[..., Any]] = getattr(view, "operations", {})
    return operations.get(method, view)


def name_of(match: ResolverMatch, method: str | None) -> str:
    """The name of what answers `method` at an address: of the API `api:start_run`, else that of the address."""
    operation = operation_of(match.func, method)
    return match.view_name if operation is match.func else f"{match.namespace}:{operation.__name__}"
