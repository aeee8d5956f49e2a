"""The best lower bound known of each problem, in one committed file that only ever improves.

A line has the problem's key (yardstick.py), what people call it, the step time or period that no placement of its
groups beats, what has proven it, the state of the code, and the day.
"""

import datetime
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.errors import PlacementError
from engine.files.whole_files import write_whole
from experiments.keeping.alone import alone_in
from experiments.keeping.code_state import code_state
from experiments.keeping.yardstick import CLOSE

FORMULA = "formula"
"""what needs no search: longest path, work and memory"""
TOLERANCE = 2e-6
"""relative; twice the tolerance of the solver of mixed-integer programmes"""


@dataclass(frozen=True, slots=True)
class KnownBound:
    """A line of the file."""

    problem: str
    """the problem's key"""
    name: str
    lower_bound_us: float
    proven_by: str
    """`FORMULA` or a method"""
    code: str
    day: str


class KeptBounds:
    """The lower bounds in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lines(self) -> dict[str, KnownBound]:
        """Key of a problem → its line, as the file is now."""
        if not self._path.exists():
            return {}
        read = (KnownBound(**json.loads(text)) for text in self._path.read_text().splitlines())
        return {line.problem: line for line in read}

    def offer(self, problem: str, name: str, lower_bound_us: float, proven_by: str, best_us: float | None) -> bool:
        """Keep the bound if it is above the one that is known; returns whether it was kept.

        `best_us` is the best known placement's time: raises PlacementError where the bound is above it by more than a
        solver's tolerance; within that the time is the bound.
        """
        if best_us is not None and lower_bound_us > best_us * (1 + TOLERANCE):
            what = f"{proven_by} claims that nothing is below {lower_bound_us} µs, and a placement takes {best_us}"
            raise PlacementError(what, where=name)
        lower_bound_us = lower_bound_us if best_us is None else min(lower_bound_us, best_us)
        with alone_in(self._path.parent):
            lines = self.lines()
            known = lines.get(problem)
            if known is not None and lower_bound_us <= known.lower_bound_us * (1 + CLOSE):
                return False
            day = datetime.datetime.now(datetime.UTC).date().isoformat()
            lines[problem] = KnownBound(problem, name, lower_bound_us, proven_by, code_state(), day)
            ordered = sorted(lines.values(), key=lambda each: (each.name, each.problem))
            text = "".join(json.dumps(asdict(each), sort_keys=True) + "\n" for each in ordered)
            write_whole(self._path, text.encode())
        return True
