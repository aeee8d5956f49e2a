"""What became of an input, and which promise it broke, if any."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.inputs import Input

READ, REFUSED, OVER_LIMIT, ABORTED, BROKEN = "read", "refused", "over a limit", "aborted", "broken"
ABORT = "TensorFlow ended the process: "
"""words of the sentence for a check of TensorFlow's own that ended the child: the outcome is ABORTED"""
SLOWEST_SECONDS = 20.0
"""for an answer, and for the reading of these small files"""
MOST_SAVED_ALIKE = 3
"""inputs that are saved with the same fault"""


@dataclass(slots=True)
class Tally:
    """Figures over many inputs of one target."""

    inputs: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    """`format: outcome` → inputs"""
    slowest_seconds: float = 0.0
    slowest: str = ""
    """how the slowest input was made"""
    largest_bytes: int = 0
    """resident memory of the largest child"""
    faults: dict[str, list[str]] = field(default_factory=dict)
    """broken promise → files of the inputs"""
    aborts: dict[str, list[str]] = field(default_factory=dict)
    """what TensorFlow said → files of the inputs"""

    def add(self, tried: Input, outcome: str, seconds: float, resident_bytes: int = 0) -> None:
        """Count an input."""
        self.inputs += 1
        name = f"{tried.format}: {outcome}"
        self.outcomes[name] = self.outcomes.get(name, 0) + 1
        if seconds > self.slowest_seconds:
            self.slowest_seconds, self.slowest = seconds, f"{tried.format}, {tried.made}"
        self.largest_bytes = max(self.largest_bytes, resident_bytes)

    def add_fault(self, promise: str, tried: Input, folder: Path) -> None:
        """Keep the input that broke `promise`, unless enough are there that broke it alike."""
        _keep(self.faults.setdefault(promise, []), tried, folder)

    def add_abort(self, sentence: str, tried: Input, folder: Path) -> None:
        """Keep the input at which TensorFlow ended the child, likewise."""
        _keep(self.aborts.setdefault(sentence.rpartition(ABORT)[2], []), tried, folder)

    def merge(self, other: "Tally") -> None:
        """Add the figures of `other`."""
        self.inputs += other.inputs
        for name, count in other.outcomes.items():
            self.outcomes[name] = self.outcomes.get(name, 0) + count
        if other.slowest_seconds > self.slowest_seconds:
            self.slowest_seconds, self.slowest = other.slowest_seconds, other.slowest
        self.largest_bytes = max(self.largest_bytes, other.largest_bytes)
        for mine, others in ((self.faults, other.faults), (self.aborts, other.aborts)):
            for words, files in others.items():
                mine.setdefault(words, []).extend(files)

    def to_json(self) -> str:
        """The figures as JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> "Tally":
        """The inverse of `to_json`."""
        row: dict[str, Any] = json.loads(text)
        return Tally(**row)


def _keep(files: list[str], tried: Input, folder: Path) -> None:
    if len(files) >= MOST_SAVED_ALIKE:
        return
    folder.mkdir(parents=True, exist_ok=True)
    line = tried.to_json()
    path = folder / f"{hashlib.sha256(line.encode()).hexdigest()[:12]}.json"
    path.write_text(line)
    files.append(str(path))
