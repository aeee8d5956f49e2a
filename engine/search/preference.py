"""What a person prefers: the fastest placement, or the simplest one that is almost as fast."""

import re
from dataclasses import dataclass

from engine.errors import SettingsError, shortened
from engine.search.simplest import LARGEST_TOLERANCE, TOLERANCE

FASTEST, SIMPLEST = "fastest", "simplest"
ALLOWED = f"{FASTEST}, {SIMPLEST}, or {SIMPLEST}=1%, from 0 to {100 * LARGEST_TOLERANCE:.0f} %"


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of a run's two placements is written and offered first."""

    simplest: bool = False
    """the simplest one; otherwise the fastest"""
    tolerance: float = TOLERANCE
    """how much slower than the fastest placement the simplest one may be; a run finds both"""

    def __post_init__(self) -> None:
        assert 0 <= self.tolerance <= LARGEST_TOLERANCE

    @staticmethod
    def of_words(words: str) -> "Preference":
        """Read `fastest`, `simplest` or `simplest=1%`. Raises SettingsError."""
        if words == FASTEST:
            return Preference()
        if words == SIMPLEST:
            return Preference(simplest=True)
        found = re.fullmatch(rf"{SIMPLEST}=(\d{{1,3}}(?:\.\d{{1,6}})?)%", words)
        if found is None or float(found[1]) / 100 > LARGEST_TOLERANCE:
            raise SettingsError(shortened(words), where="prefer", allowed=ALLOWED, field="prefer")
        return Preference(simplest=True, tolerance=float(found[1]) / 100)

    @property
    def words(self) -> str:
        """What `of_words` reads."""
        percent = f"{100 * self.tolerance:.6f}".rstrip("0").rstrip(".")
        return f"{SIMPLEST}={percent}%" if self.simplest else FASTEST
