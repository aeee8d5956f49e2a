"""A policy's card: its training graphs and clusters, and its results on held-out graphs. Pages show it."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from engine.errors import SettingsError
from engine.events import Json
from engine.files.json_text import shown
from engine.policies.traits import LEAST, MOST, TRAITS, Ranges

MOST_TEXT = 200
"""most characters of a name"""
MOST_ITEMS = 4096
"""most names in a list, or held-out rows"""
MOST_SETTINGS = 200
"""most settings of a training"""
MOST_CLUSTERS = 64
"""most clusters; each is parsed when a policy is chosen for a graph and a cluster"""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The policy's results on one graph and cluster that it was not trained on, and a search's for comparison."""

    graph: str
    cluster: str
    greedy_us: float | None
    """step time of the greedy pass; None if it does not fit the devices' memory"""
    best_of_us: float | None
    """step time of the best of the greedy and the sampled passes that fits; None if none does"""
    samples: int
    """number of sampled passes"""
    search_us: float
    """best step time that the search found"""
    search_seconds: float
    """the search's budget; 0 if its budget was in evaluations"""
    search_evaluations: int
    """those that the search made; 0 where the file has none"""
    ops: int = 0
    """of the graph; 0 where the file has none"""

    @property
    def gap(self) -> float | None:
        """Relative gap of the greedy pass to the search; below 0 if the pass is faster."""
        return None if self.greedy_us is None else self.greedy_us / self.search_us - 1

    @property
    def best_of_gap(self) -> float | None:
        """Relative gap of the best of all passes to the search."""
        return None if self.best_of_us is None else self.best_of_us / self.search_us - 1

    def to_json(self) -> dict[str, Json]:
        """The fields and the two gaps as JSON."""
        fields: dict[str, Json] = dataclasses.asdict(self)
        return fields | {"gap": self.gap, "best_of_gap": self.best_of_gap}


@dataclass(frozen=True, slots=True)
class PolicyCard:
    """The facts that a page shows about a policy. `to_json` adds the gaps."""

    name: str
    engine_version: str
    """version of the engine that trained it"""
    seed: int
    families: tuple[str, ...]
    """names of the families among its training graphs"""
    graphs: tuple[str, ...]
    """names of its training graphs"""
    clusters: tuple[str, ...]
    """shorthands or names of its training clusters"""
    imitation_steps: int
    episodes: int
    evaluations: int
    """simulated placements, those of the teacher included"""
    seconds: float
    """duration of the training"""
    drawn: int = 0
    """number of problems drawn at random that took part beside the graphs"""
    training: Mapping[str, Json] = field(default_factory=dict)
    """all settings of its training, by name; empty where the file has none"""
    held_out: tuple[HeldOut, ...] = ()
    ranges: Ranges = field(default_factory=dict)
    """between which numbers the problems of its training were, by trait: see `traits`"""

    @property
    def has_learned(self) -> bool:
        """Whether its weights have been trained at all."""
        return self.imitation_steps > 0 or self.episodes > 0

    @property
    def mean_gap(self) -> float | None:
        """Mean relative gap of the greedy passes that fit to the search; None if none fits."""
        return _mean([row.gap for row in self.held_out])

    @property
    def worst_gap(self) -> float | None:
        """The largest relative gap of a greedy pass to the search; None if none fits."""
        return max((row.gap for row in self.held_out if row.gap is not None), default=None)

    @property
    def mean_best_of_gap(self) -> float | None:
        """Mean relative gap of the best of all passes to the search; None if none fits."""
        return _mean([row.best_of_gap for row in self.held_out])

    @property
    def misfits(self) -> int:
        """The number of held-out graphs and clusters where the greedy pass does not fit; the gaps leave these out."""
        return sum(row.greedy_us is None for row in self.held_out)

    def to_json(self) -> dict[str, Json]:
        """The fields as JSON, and the values computed from them: the mean and worst gaps and `misfits`."""
        values: dict[str, Json] = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        lists: dict[str, Json] = {name: list(getattr(self, name)) for name in ("families", "graphs", "clusters")}
        follows: dict[str, Json] = {name: getattr(self, name) for name in FOLLOWS}
        held_out: list[Json] = [row.to_json() for row in self.held_out]
        ranges: dict[str, Json] = {name: list(ends) for name, ends in self.ranges.items()}
        return values | lists | {"training": dict(self.training), "held_out": held_out, "ranges": ranges} | follows

    @staticmethod
    def from_json(value: Json, where: str) -> "PolicyCard":
        """The inverse of `to_json`; ignores computed values. Raises SettingsError, naming `where`, if it is no card."""
        read = _Reader(where, _object(value, "the card", where))
        return PolicyCard(
            name=read.text("name"),
            engine_version=read.text("engine_version"),
            seed=read.whole("seed"),
            families=read.texts("families"),
            graphs=read.texts("graphs"),
            clusters=read.texts("clusters", MOST_CLUSTERS),
            imitation_steps=read.whole("imitation_steps"),
            episodes=read.whole("episodes"),
            evaluations=read.whole("evaluations"),
            seconds=read.number("seconds", 0.0),
            drawn=read.whole("drawn") if read.has("drawn") else 0,
            training=read.settings("training") if read.has("training") else {},
            held_out=tuple(_held_out(row, where) for row in read.rows("held_out")),
            ranges=_ranges(read.value("ranges"), where) if read.has("ranges") else {},
        )


FOLLOWS = ("mean_gap", "worst_gap", "mean_best_of_gap", "misfits")


def _mean(gaps: Sequence[float | None]) -> float | None:
    known = [gap for gap in gaps if gap is not None]
    return fmean(known) if known else None


def _held_out(value: Json, where: str) -> HeldOut:
    read = _Reader(where, _object(value, "a row of held_out", where))
    return HeldOut(
        graph=read.text("graph"),
        cluster=read.text("cluster"),
        greedy_us=read.number_or_none("greedy_us", LEAST_US),
        best_of_us=read.number_or_none("best_of_us", LEAST_US),
        samples=read.whole("samples"),
        search_us=read.number("search_us", LEAST_US),
        search_seconds=read.number("search_seconds", 0.0),
        search_evaluations=read.whole("search_evaluations") if read.has("search_evaluations") else 0,
        ops=read.whole("ops") if read.has("ops") else 0,
    )


def _ranges(value: Json, where: str) -> Ranges:
    stated = _object(value, "the card's ranges", where)
    read = _Reader(where, stated)
    unknown = sorted(stated.keys() - TRAITS.keys())
    if unknown:
        allowed = ", ".join(TRAITS)
        raise SettingsError(
            f"a range of the card is of {shown(unknown[0])}", where=where, allowed=allowed, field="policy"
        )
    return {name: read.range(name) for name in TRAITS if name in stated}


LEAST_US = 1e-9
MOST_NUMBER = 1e18
MOST_WHOLE = 2**63 - 1


def _object(value: Json, what: str, where: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise SettingsError(f"{what} is {shown(value)}", where=where, allowed="a JSON object", field="policy")
    return value


class _Reader:
    """Reads and checks the values of an object from a file."""

    def __init__(self, where: str, values: Mapping[str, Json]) -> None:
        self._where, self._values = where, values

    def has(self, name: str) -> bool:
        return name in self._values

    def value(self, name: str) -> Json:
        return self._values.get(name)

    def range(self, name: str) -> tuple[float, float]:
        """The two ends of a trait's range."""
        ends = self.rows(name, 2)
        pair = _Reader(self._where, dict(zip(("least", "most"), ends, strict=False)))
        least, most = (pair.number(end, LEAST) for end in ("least", "most"))
        if not least <= most <= MOST:
            raise self._refused_as(name, f"{least:g} to {most:g}", f"two rising numbers from {LEAST:g} to {MOST:g}")
        return least, most

    def text(self, name: str) -> str:
        value = self._values.get(name)
        if not is_text(value):
            raise self._refused(name, value, f"a printable text of at most {MOST_TEXT} characters")
        return str(value)

    def texts(self, name: str, most: int = MOST_ITEMS) -> tuple[str, ...]:
        value = self.rows(name, most)
        for item in value:
            if not is_text(item):
                raise self._refused(name, item, f"printable texts of at most {MOST_TEXT} characters")
        return tuple(map(str, value))

    def rows(self, name: str, most: int = MOST_ITEMS) -> Sequence[Json]:
        value = self._values.get(name)
        if not isinstance(value, list) or len(value) > most:
            what = f"a list of {len(value)}" if isinstance(value, list) else shown(value)
            raise self._refused_as(name, what, f"a list of at most {most}")
        return value

    def settings(self, name: str) -> Mapping[str, Json]:
        """Settings by name, known here or not: the file may be of another version."""
        value = _object(self._values.get(name), f"the card's {name}", self._where)
        if len(value) > MOST_SETTINGS:
            raise self._refused_as(name, f"an object of {len(value)}", f"an object of at most {MOST_SETTINGS}")
        for setting, given in value.items():
            if not is_text(setting):
                raise self._refused_as(name, f"of {shown(setting)}", f"names of at most {MOST_TEXT} characters")
            is_number = isinstance(given, int | float) and abs(given) <= MOST_NUMBER  # true and false among them
            if not is_number and not is_text(given):
                allowed = f"a number, true, false, or a printable text of at most {MOST_TEXT} characters"
                raise self._refused_as(name, f"{shown(given)} for {setting}", allowed)
        return value

    def whole(self, name: str) -> int:
        value = self._values.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_WHOLE:
            raise self._refused(name, value, f"an integer from 0 to {MOST_WHOLE}")
        return value

    def number_or_none(self, name: str, least: float) -> float | None:
        return None if self.has(name) and self._values[name] is None else self.number(name, least)

    def number(self, name: str, least: float) -> float:
        value = self._values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= MOST_NUMBER:
            raise self._refused(name, value, f"a number from {least:g} to {MOST_NUMBER:g}")
        assert math.isfinite(value)
        return float(value)

    def _refused(self, name: str, value: Json, allowed: str) -> SettingsError:
        return self._refused_as(name, shown(value), allowed)

    def _refused_as(self, name: str, what: str, allowed: str) -> SettingsError:
        return SettingsError(f"the card's {name} is {what}", where=self._where, allowed=allowed, field="policy")


def is_text(value: Json) -> bool:
    """Whether `value` may stand on a card: one printable line of at most `MOST_TEXT` characters."""
    return isinstance(value, str) and len(value) <= MOST_TEXT and value.isprintable()
