"""The figures of the pages: medians, goals, and their table."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

MEBIBYTE = 1024**2
LONGEST_FRAME_MS = 250.0


@dataclass(frozen=True, slots=True)
class Goal:
    """What a page should reach with software drawing on two idle cores, as medians; None: no goal."""

    open_ms: float | None = None
    frames: float | None = None
    """a second, while the page moves or plays"""


@dataclass(frozen=True, slots=True)
class Motion:
    """The frames of one gesture."""

    frames: float
    """a second"""
    longest_ms: float


@dataclass(slots=True)
class Figures:
    """The figures of one page."""

    page: str
    goal: Goal
    open_ms: list[float] = field(default_factory=list)
    heap_bytes: list[float] = field(default_factory=list)
    motions: dict[str, list[Motion]] = field(default_factory=dict)
    """gesture → one for each repeat"""
    fault: str = ""
    """why it was not measured, or not to the end"""

    def to_json(self) -> dict[str, Any]:
        """Medians over the repeats; null without any."""
        return {
            "page": self.page,
            "open_ms": _median(self.open_ms),
            "open_goal_ms": self.goal.open_ms,
            "heap_bytes": _median(self.heap_bytes),
            "frames_goal": self.goal.frames,
            "motions": {name: _motion(motions) for name, motions in self.motions.items()},
            "repeats": len(self.open_ms),
            "fault": self.fault,
        }


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _motion(motions: Sequence[Motion]) -> dict[str, float | None]:
    return {
        "frames": _median([motion.frames for motion in motions]),
        "longest_ms": _median([motion.longest_ms for motion in motions]),
        "worst_ms": max((motion.longest_ms for motion in motions), default=None),
    }


def missed(row: dict[str, Any]) -> list[str]:
    """What a row of `Figures.to_json` misses, in words."""
    found = [f"{row['page']}: {row['fault']}"] if row["fault"] else []
    if row["open_ms"] is not None and row["open_goal_ms"] is not None and row["open_ms"] > row["open_goal_ms"]:
        found.append(f"{row['page']}: opens in {row['open_ms']:.0f} ms, goal {row['open_goal_ms']:.0f} ms")
    for gesture, motion in row["motions"].items():
        if row["frames_goal"] is None or motion["frames"] is None:
            continue
        if motion["frames"] < row["frames_goal"]:
            frames = f"{motion['frames']:.1f} frames a second, goal {row['frames_goal']:.0f}"
            found.append(f"{row['page']}, {gesture}: {frames}")
        if motion["longest_ms"] > LONGEST_FRAME_MS:
            longest = f"the longest frame takes {motion['longest_ms']:.0f} ms, goal {LONGEST_FRAME_MS:.0f} ms"
            found.append(f"{row['page']}, {gesture}: {longest}")
    return found


HEADINGS = ("page", "open (s)", "× empty", "JS heap (MiB)", "× empty", "gesture", "frames/s", "longest frame (ms)")


def table(rows: Iterable[dict[str, Any]]) -> str:
    """The rows of `Figures.to_json` in Markdown, the first of them the empty page: a line for each gesture."""
    rows = list(rows)
    lines = [list(HEADINGS), ["---"] * len(HEADINGS)]
    for row in rows:
        cells = [row["page"], *_opening(row, rows[0])]
        for gesture, motion in row["motions"].items() or [("–", None)]:
            lines.append([*cells, gesture, *_frames(motion)])
            cells = [""] * len(cells)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _opening(row: dict[str, Any], empty: dict[str, Any]) -> list[str]:
    cells = []
    for name, unit, digits in (("open_ms", 1000.0, 2), ("heap_bytes", float(MEBIBYTE), 1)):
        value, base = row[name], empty[name]
        cells += ["–" if value is None else f"{value / unit:.{digits}f}"]
        cells += [f"{value / base:.1f}" if value is not None and base else "–"]
    return cells


def _frames(motion: dict[str, float | None] | None) -> list[str]:
    if motion is None or motion["frames"] is None:
        return ["–", "–"]
    return [f"{motion['frames']:.1f}", f"{motion['longest_ms']:.0f} (most {motion['worst_ms']:.0f})"]
