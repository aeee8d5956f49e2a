"""The members of a family, and their split into graphs to train on and graphs to test with."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.settings.seeds import require_seed
from engine.zoo.families.catalogue import FAMILIES, Family
from engine.zoo.families.split import Split, split_of

DEFAULT_COUNT = 32


@dataclass(frozen=True, slots=True)
class Member:
    """One graph of a family."""

    name: str
    """the family and the index, such as `nmt-07`"""
    split: Split
    settings: Mapping[str, Json]
    """settings that override the defaults of the zoo's model"""


def members(family: str, seed: int = 0, count: int = DEFAULT_COUNT) -> tuple[Member, ...]:
    """The first `count` members; neither a member nor its split depends on `count`. Raises SettingsError."""
    row = family_named(family)
    _check(row, seed, count)
    return tuple(Member(f"{family}-{index:02d}", split_of(index), row.draw(seed, index)) for index in range(count))


def family_named(family: str) -> Family:
    """The row of `family` in the catalogue. Raises SettingsError for an unknown name."""
    if family not in FAMILIES:
        raise SettingsError(f"no family {shortened(family)}", where="family", allowed=", ".join(FAMILIES), field="name")
    return FAMILIES[family]


def _check(row: Family, seed: int, count: int) -> None:
    if not 1 <= count <= row.most:
        allowed = f"an integer from 1 to {row.most}"
        raise SettingsError(f"{count} graphs", where="count", allowed=allowed, field="count")
    require_seed(seed)
