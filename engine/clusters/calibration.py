"""What was measured on the machine that a cluster describes: the record that a calibrated cluster carries.

In cluster JSON: `"calibration": {"machine", "date", "figures": {NAME: {"value", "low", "high", "how"}}}`. The simulator
does not read it; pages, reports and people do.
"""

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from engine.clusters.json_fields import number_of, object_of, text_of
from engine.errors import ClusterError, shortened
from engine.events import Json
from engine.files.json_text import shown

ERROR_BAND = "measured_over_simulated"
"""the figure that says how far simulated step times are from measured ones"""
MOST_FIGURES = 400
MOST_TEXT = 300
_ANY_NUMBER = (-1e18, 1e18)


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A figure with the least and the greatest of the rounds that measured it."""

    value: float
    low: float
    high: float
    how: str
    """how it was measured, with its unit, for people"""

    def __post_init__(self) -> None:
        assert all(map(math.isfinite, (self.low, self.value, self.high)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """The measurements of one machine on one day."""

    machine: str
    """its processors or devices, in words"""
    date: str
    """ISO 8601"""
    figures: Mapping[str, MeasuredFigure]

    @property
    def error_band(self) -> MeasuredFigure | None:
        """By how much measured step times exceeded simulated ones, as a factor; None where that was not measured."""
        return self.figures.get(ERROR_BAND)


def calibration_of_json(value: Json) -> Calibration:
    """Read the record. Raises ClusterError."""
    fields = object_of(value, "calibration", ("machine", "date", "figures"))
    date = text_of(fields, "calibration", "date")
    try:
        datetime.date.fromisoformat(date)
    except ValueError:
        raise ClusterError(
            shortened(date), where="calibration.date", allowed="a date as 2026-01-31", field="cluster"
        ) from None
    figures = fields.get("figures")
    if not isinstance(figures, dict) or len(figures) > MOST_FIGURES:
        what = f"{len(figures)} figures" if isinstance(figures, dict) else shown(figures)
        allowed = f"an object with at most {MOST_FIGURES} figures"
        raise ClusterError(what, where="calibration.figures", allowed=allowed, field="cluster")
    return Calibration(
        machine=_bounded_text(fields, "calibration", "machine"),
        date=date,
        figures=MappingProxyType(
            {name: _figure(item, f"calibration.figures.{shortened(name)}") for name, item in figures.items()}
        ),
    )


def calibration_to_json(calibration: Calibration) -> dict[str, Json]:
    """The inverse of `calibration_of_json`."""
    return {
        "machine": calibration.machine,
        "date": calibration.date,
        "figures": {
            name: {"value": each.value, "low": each.low, "high": each.high, "how": each.how}
            for name, each in calibration.figures.items()
        },
    }


def _figure(value: Json, where: str) -> MeasuredFigure:
    fields = object_of(value, where, ("value", "low", "high", "how"))
    low, middle, high = (_required(fields, where, key) for key in ("low", "value", "high"))
    if not low <= middle <= high:
        what = f"{low:g}, {middle:g}, {high:g}"
        raise ClusterError(what, where=where, allowed="low ≤ value ≤ high", field="cluster")
    return MeasuredFigure(middle, low, high, _bounded_text(fields, where, "how"))


def _required(fields: dict[str, Json], where: str, key: str) -> float:
    return number_of({key: fields.get(key)}, where, key, _ANY_NUMBER, 0.0)


def _bounded_text(fields: dict[str, Json], where: str, key: str) -> str:
    text = text_of(fields, where, key)
    if len(text) > MOST_TEXT or not text.isprintable():
        allowed = f"at most {MOST_TEXT} printable characters"
        raise ClusterError(shortened(text), where=f"{where}.{key}", allowed=allowed, field="cluster")
    return text
