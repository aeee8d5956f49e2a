"""The scatter plot of measured over simulated step times, as the numbers of an SVG. Both axes are logarithmic."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine import api

WIDTH, HEIGHT = 400.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 76.0, 14.0, 12.0, 46.0
"""margins with the ticks and titles"""
PADDING = 0.06
"""of an axis beyond its values, as a share of their span"""
LEAST_SPAN = math.log(1.1)
NEAR = 2.5
"""axes have one range, on which the line of equal times is the diagonal, unless it is so many times the longer one"""
DECADE = math.log(10.0)
STEPS_WANTED, MOST_TICKS = 4, 5
UNITS_US = {"s": 1e6, "ms": 1e3, "µs": 1.0}
MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Spot:
    """One placement in µs, and what it is."""

    words: str
    simulated_us: float
    measured_us: float
    rounds_us: Sequence[float]
    is_of_a_run: bool


@dataclass(frozen=True, slots=True)
class DrawnSpot:
    """Its place; `low` and `high` are the ends of the range of its rounds."""

    x: float
    y: float
    low: float
    high: float
    words: str
    is_of_a_run: bool


@dataclass(frozen=True, slots=True)
class DrawnTick:
    """A tick with its words."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """What the template draws."""

    spots: list[DrawnSpot]
    x_ticks: list[DrawnTick]
    y_ticks: list[DrawnTick]
    equal: tuple[float, float, float, float] | None
    """x, y, x, y of the line on which both times are equal; None if it lies outside"""
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM
    middle_x: float = (LEFT + WIDTH - RIGHT) / 2
    middle_y: float = (TOP + HEIGHT - BOTTOM) / 2


@dataclass(frozen=True, slots=True)
class LogAxis:
    """An axis from `low` to `high`, logarithms of µs, drawn from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, time_us: float) -> float:
        """The place of a time."""
        return self._drawn(math.log(time_us))

    def _drawn(self, value: float) -> float:
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)

    def ticks(self) -> list[DrawnTick]:
        """A few round times."""
        return [DrawnTick(self.at(time_us), _exact_words(time_us)) for time_us in _round_times(self.low, self.high)]


def scatter_of(spots: Sequence[Spot]) -> Scatter:
    """The plot of the placements, those of runs on top."""
    simulated = [math.log(spot.simulated_us) for spot in spots]
    measured = [math.log(time_us) for spot in spots for time_us in (spot.measured_us, *spot.rounds_us)]
    across, up = _ranges(simulated, measured)
    x, y = LogAxis(*across, LEFT, WIDTH - RIGHT), LogAxis(*up, HEIGHT - BOTTOM, TOP)
    drawn = [_drawn(spot, x, y) for spot in sorted(spots, key=lambda spot: spot.is_of_a_run)]
    low, high = max(x.low, y.low), min(x.high, y.high)
    ends = math.exp(low), math.exp(high)
    equal = (x.at(ends[0]), y.at(ends[0]), x.at(ends[1]), y.at(ends[1])) if low < high else None
    return Scatter(drawn, x.ticks(), y.ticks(), equal)


def _drawn(spot: Spot, x: LogAxis, y: LogAxis) -> DrawnSpot:
    times = f"simulated {api.time_words(spot.simulated_us)}, measured {api.time_words(spot.measured_us)}"
    low, high = y.at(min(spot.rounds_us)), y.at(max(spot.rounds_us))
    words = f"{spot.words}: {times}"
    return DrawnSpot(x.at(spot.simulated_us), y.at(spot.measured_us), low, high, words, spot.is_of_a_run)


def _ranges(across: Sequence[float], up: Sequence[float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges of both axes: one for both where that leaves the spots apart."""
    own = _padded(across), _padded(up)
    both = _padded([*across, *up])
    longest = max(high - low for low, high in own)
    return (both, both) if both[1] - both[0] <= NEAR * longest else own


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    more = max(PADDING * (high - low), (LEAST_SPAN - (high - low)) / 2)
    return low - more, high + more


def _round_times(low: float, high: float) -> list[float]:
    """A few round times between two logarithms: of each decade, or in equal steps where it is about one decade."""
    if high - low <= DECADE:
        return _even_times(math.exp(low), math.exp(high))
    decades = range(math.floor(low / DECADE), math.ceil(high / DECADE) + 1)
    found = [10.0**decade for decade in decades if low <= decade * DECADE <= high]
    for firsts in ((1.0, 2.0, 5.0), (1.0, 3.0)):
        finer = [first * 10.0**decade for decade in decades for first in firsts]
        finer = [time_us for time_us in finer if low <= math.log(time_us) <= high]
        if len(finer) <= MOST_TICKS:
            return finer
    return found[:: math.ceil(len(found) / MOST_TICKS)]


def _even_times(least: float, most: float) -> list[float]:
    rough = (most - least) / STEPS_WANTED
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [step * number for number in range(max(1, math.ceil(least / step)), math.floor(most / step) + 1)]


def _exact_words(time_us: float) -> str:
    """`20 ms`, `1.25 s`: as many digits as it has."""
    for digits in range(1, MOST_DIGITS):
        words = api.time_words(time_us, digits)
        number, unit = words.replace(",", "").split()
        if math.isclose(float(number) * UNITS_US[unit], time_us, rel_tol=1e-6):
            break
    return words
