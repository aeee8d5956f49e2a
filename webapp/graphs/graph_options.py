"""The options with which a graph is read and grouped, as its row stores them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from engine import api

DEFAULT_READING = api.ReadingOptions()
GROUPS_BEFORE_OPTIONS = 128


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Options beside a graph's file."""

    reading: api.ReadingOptions = DEFAULT_READING
    """signature, tags, fetches, batch size, input shapes, trips of loops, sizes, offload"""
    groups: api.Groups = api.AUTO_GROUPS
    """the most groups to merge into; None: no merging; `auto`: all levels"""
    profile_kind: str | None = None
    """the one kind of device with measured times; None: every kind of the class"""

    def to_json(self) -> dict[str, api.Json]:
        """For the row."""
        return {"reading": self.reading.to_json(), "groups": self.groups, "profile_kind": self.profile_kind}

    @staticmethod
    def from_json(stored: Mapping[str, api.Json]) -> "GraphOptions":
        """The inverse of `to_json`; an empty dict is a row older than options."""
        if not stored:
            return GraphOptions(groups=GROUPS_BEFORE_OPTIONS)
        reading = cast(Mapping[str, api.Json], stored["reading"])
        return GraphOptions(
            api.ReadingOptions.from_json(reading),
            cast(api.Groups, stored["groups"]),
            cast(str | None, stored["profile_kind"]),
        )

    @property
    def words(self) -> str:
        """The options that differ from the defaults, on one line: `batch size 32, 64 groups`."""
        parts = []
        if self.reading.signature:
            parts.append(f"signature {self.reading.signature}")
        if self.reading.tags is not None:
            parts.append(f"tags {api.tags_text(self.reading.tags)}")
        if fetches := self.reading.fetches:
            parts.append(f"{len(fetches)} fetch{'es' if len(fetches) > 1 else ''}")
        if self.reading.batch_size is not None:
            parts.append(f"batch size {self.reading.batch_size}")
        if shapes := self.reading.input_shapes:
            parts.append(f"{len(shapes)} input shape{'s' if len(shapes) > 1 else ''}")
        if trips := self.reading.trips:
            parts.append(f"trips of {len(trips)} loop{'s' if len(trips) > 1 else ''}")
        if sizes := self.reading.sizes:
            parts.append(f"{len(sizes)} size{'s' if len(sizes) > 1 else ''}")
        if self.reading.offload:
            parts.append("weights may wait in CPU memory")
        if self.groups != api.AUTO_GROUPS:
            parts.append(f"groups: {groups_text(self.groups)}")
        return ", ".join(parts)


def groups_text(groups: api.Groups) -> str:
    """As the user writes it: `128`, `all` or `auto`."""
    return "all" if groups is None else str(groups)
