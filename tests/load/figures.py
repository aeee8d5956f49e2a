"""The figures of a load, and their table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

MEBIBYTE = 1024**2


@dataclass(slots=True)
class Times:
    """Seconds that answers took, and the requests without a right answer."""

    seconds: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)

    def failed(self, error: str) -> None:
        """Count a request without a right answer."""
        self.errors[error] = self.errors.get(error, 0) + 1

    def quantile(self, share: float) -> float | None:
        """The time that this share of the answers took at most; None without answers."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None

    def to_json(self) -> dict[str, Any]:
        """Count, median, 95 %, most, errors."""
        return {
            "answers": len(self.seconds),
            "p50_seconds": self.quantile(0.5),
            "p95_seconds": self.quantile(0.95),
            "max_seconds": self.quantile(1.0),
            "errors": self.errors,
        }


@dataclass(slots=True)
class Figures:
    """The figures of one load."""

    load: str
    own: Times
    """the load's own requests"""
    pages: Times
    """pages that a few more visitors opened meanwhile, each one after the other"""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """of the web process"""
    memory_before_bytes: int = 0
    memory_peak_bytes: int = 0
    memory_after_bytes: int = 0
    """after the rest that follows the load"""
    threads_peak: int = 0
    notes: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All figures."""
        return {
            "load": self.load,
            "own": self.own.to_json(),
            "pages": self.pages.to_json(),
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "memory_before_bytes": self.memory_before_bytes,
            "memory_peak_bytes": self.memory_peak_bytes,
            "memory_after_bytes": self.memory_after_bytes,
            "threads_peak": self.threads_peak,
            "notes": self.notes,
        }


HEADINGS = (
    "load",
    "answers",
    "errors",
    "p50 / p95 / max (s)",
    "pages meanwhile: p50 / p95 / max (s)",
    "CPU of web (s) in (s)",
    "memory of web before / peak / after (MiB)",
    "after / before",
    "threads",
)


def table(rows: Iterable[dict[str, Any]]) -> str:
    """The table of `Figures.to_json` in Markdown."""
    lines = [list(HEADINGS), ["---"] * len(HEADINGS), *map(_cells, rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cells(row: dict[str, Any]) -> Sequence[str]:
    memory = [row[f"memory_{when}_bytes"] for when in ("before", "peak", "after")]
    notes = "".join(f"; {name} {value}" for name, value in row["notes"].items())
    return (
        row["load"] + notes,
        str(row["own"]["answers"]),
        _errors(row["own"]["errors"] | row["pages"]["errors"]),
        _times(row["own"]),
        _times(row["pages"]),
        f"{row['cpu_seconds']:.1f} in {row['seconds']:.0f}",
        " / ".join(f"{size / MEBIBYTE:.0f}" for size in memory),
        f"{memory[2] / memory[0]:.2f}",
        str(row["threads_peak"]),
    )


def _errors(errors: dict[str, int]) -> str:
    return ", ".join(f"{count} x {error}" for error, count in sorted(errors.items())) or "0"


def _times(times: dict[str, Any]) -> str:
    if not times["answers"]:
        return "–"
    return " / ".join(f"{times[name]:.2f}" for name in ("p50_seconds", "p95_seconds", "max_seconds"))
