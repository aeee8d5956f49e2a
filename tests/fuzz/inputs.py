"""What the fuzzer sends: a file or a text, with the fields beside it."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GRAPH, POLICY, CLUSTER = "graph", "policy", "cluster"


@dataclass(frozen=True, slots=True)
class Input:
    """One upload of a graph or a policy, or the cluster of a run."""

    kind: str
    """GRAPH, POLICY or CLUSTER"""
    suffix: str
    """of the file's name; `.txt` for a cluster"""
    content: bytes
    times: bytes = b""
    """RunMetadata beside a graph; empty without"""
    fields: Mapping[str, str] = field(default_factory=dict)
    """the form's other fields, as a user writes them"""
    made: str = ""
    """the seed, the number and the mutators that made it"""

    @property
    def format(self) -> str:
        """Kind and suffix, for tables."""
        return f"{self.kind} {self.suffix}" + (" with times" if self.times else "")

    def to_json(self) -> str:
        """The input as one line."""
        row = {"kind": self.kind, "suffix": self.suffix, "fields": dict(self.fields), "made": self.made}
        blobs = {name: base64.b64encode(getattr(self, name)).decode() for name in ("content", "times")}
        return json.dumps(row | blobs)

    @staticmethod
    def from_json(text: str) -> "Input":
        """The inverse of `to_json`."""
        row: dict[str, Any] = json.loads(text)
        blobs = {name: base64.b64decode(row.pop(name)) for name in ("content", "times")}
        return Input(**(row | blobs))
