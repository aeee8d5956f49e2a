"""Methods in words."""

from engine import api


def method_labels() -> dict[str, str]:
    """Name → label for people, of every method of the registry."""
    return {method.name: method.label for method in api.methods()}
