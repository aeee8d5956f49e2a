"""Ranges of settings: one piece checks them, so no method takes what is no number."""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from engine.errors import SettingsError
from engine.placers.registry import PLACERS, make_placer, settings_of
from engine.policies.settings import make_training_settings
from engine.settings.ranges import not_number, not_whole, require_choices, require_ranges, require_switches
from engine.zoo import ZOO

NO_NUMBERS = (True, "1", None, [1], float("nan"), 10**400, -(10**400), float("-inf"))
Make = Callable[[dict[str, Any]], object]


@dataclasses.dataclass(frozen=True)
class Some:
    size: object = 1
    share: object = 0.5
    form: object = "round"
    open: object = True


@pytest.mark.parametrize(
    ("value", "fits"), [(1, True), (9, True), (0, False), (10, False), (1.0, False), (True, False)]
)
def test_a_whole_number_lies_in_its_range_both_ends_included(value: object, fits: bool) -> None:
    assert not_whole(value, 1, 9) == (None if fits else "a whole number from 1 to 9")


@pytest.mark.parametrize(("value", "fits"), [(0, True), (1e6, True), (-1e-9, False), (False, False), ("1", False)])
def test_a_number_may_be_whole(value: object, fits: bool) -> None:
    assert not_number(value, 0.0, 1e6) == (None if fits else "a number from 0 to 1e+06")


@pytest.mark.parametrize(
    ("changes", "method", "message", "field"),
    [
        ({"size": 3}, "", "size: 3; allowed: a whole number from 1 to 2", "size"),
        ({"size": 3}, "post", "post size: 3; allowed: a whole number from 1 to 2", "settings"),
        ({"share": 10**400}, "", f"share: {10**400}; allowed: a number from 0 to 1", "share"),
        ({"form": ["round"]}, "", "form: ['round']; allowed: round, flat", "form"),
        ({"open": 1}, "post", "post open: 1; allowed: true, false", "settings"),
    ],
)
def test_the_error_names_setting_and_range(changes: dict[str, Any], method: str, message: str, field: str) -> None:
    some = Some(**changes)
    with pytest.raises(SettingsError) as caught:
        require_ranges(some, {"size": (1, 2)}, {"share": (0.0, 1.0)}, method)
        require_choices(some, {"form": ("round", "flat")}, method)
        require_switches(some, ("open",), method)
    assert (str(caught.value), caught.value.field) == (message, field)


def every_number() -> Iterator[tuple[str, Make, str]]:
    """Who has it, how its settings are made, and its name: of all methods, models and the training of policies."""
    for method in PLACERS:
        for name, value in settings_of(make_placer(method, {})).items():
            if is_number(value):
                yield method, partial(make_placer, method), name
    for model in ZOO:
        for name, value in dataclasses.asdict(ZOO[model].settings({})).items():
            if is_number(value):
                yield model, ZOO[model].settings, name
    for name, value in dataclasses.asdict(make_training_settings({})).items():
        if is_number(value):
            yield "train", make_training_settings, name


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def test_no_method_takes_what_is_no_number_in_its_range() -> None:
    seen = set()
    for owner, make, name in every_number():
        seen.add(owner)
        for value in NO_NUMBERS:
            with pytest.raises(SettingsError) as caught:
                pytest.fail(f"{owner} takes {name} = {value!r}: {make({name: value})}")
            assert name in caught.value.where, (owner, name, value)
    assert {"auto", "placeto", "scotch", "random", "m_sct", "rnn", "hierarchical", "nmt", "train"} <= seen
