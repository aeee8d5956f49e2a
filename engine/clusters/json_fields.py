"""Fields of cluster JSON, each checked where it is read."""

from collections.abc import Collection

from engine.errors import ClusterError, shortened
from engine.events import Json
from engine.files.json_text import shown


def object_of(value: Json, where: str, keys: Collection[str]) -> dict[str, Json]:
    """`value`, if it is an object with no keys other than `keys`. Raises ClusterError."""
    if not isinstance(value, dict):
        allowed = f"an object with {', '.join(keys)}"
        raise ClusterError(shown(value), where=where, allowed=allowed, field="cluster")
    for key in value:
        if key not in keys:
            what = f"the key {shortened(key)} is not known"
            raise ClusterError(what, where=where, allowed=", ".join(keys), field="cluster")
    return value


def text_of(fields: dict[str, Json], where: str, key: str) -> str:
    """The text under `key`. Raises ClusterError."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise ClusterError(shown(value), where=f"{where}.{key}", allowed="a text", field="cluster")
    return value


def number_of(fields: dict[str, Json], where: str, key: str, bounds: tuple[float, float], default: float) -> float:
    """The number under `key`, or `default` where the key is missing; `bounds` are inclusive. Raises ClusterError."""
    value = fields.get(key, default)
    lowest, highest = bounds
    # Compared before any conversion: an integer of a thousand digits fits no float. NaN fails both comparisons.
    if isinstance(value, bool) or not isinstance(value, int | float) or not lowest <= value <= highest:
        allowed = f"a number from {lowest:g} to {highest:g}"
        raise ClusterError(shown(value), where=f"{where}.{key}", allowed=allowed, field="cluster")
    return value
