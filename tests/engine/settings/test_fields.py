"""Fields of settings: what they declare is what is taken, by every method alike, and what errors and presets say."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from engine.errors import SettingsError, shortened
from engine.placers.registry import PLACERS, make_placer, settings_of
from engine.policies.settings import make_training_settings
from engine.settings.fields import (
    choice,
    declarations,
    mapping,
    number,
    refused,
    require_allowed,
    share,
    switch,
    text,
    whole,
)
from engine.settings.making import make_settings, presets_of
from engine.zoo import ZOO

NO_NUMBERS = (True, "1", None, [1], float("nan"), 10**400, -(10**400), float("-inf"))
Make = Callable[[dict[str, Any]], object]


def read_recipe(name: str, recipe: str) -> None:
    """A reader that says itself what is wrong."""
    for word in recipe.split()[1:]:
        if word not in ("salt", "flour"):
            raise refused(name, word, "salt, flour")


@dataclass(frozen=True, slots=True)
class Oven:
    """Settings of a method that there is not."""

    preset: str = choice(("fast", "paper"), "where the others are from")
    loaves: int = whole(4, 1, 9, "in the oven at once", paper=8)
    trays: int = whole(4, 2, 8, "two a shelf", multiple_of=2)
    heat: float = number(0.5, 0.0, 1e6, "of the oven", paper=2.0)
    waste: float = share(0.1, "of the dough")
    form: str = choice(("round", "flat"), "of a loaf", paper="flat")
    open: bool = switch(False, "whether the door is open", paper=True)
    label: str = text("bread", "on the bag")
    recipe: str = text("1 salt", "how it is made", "a number and names", read_recipe)
    prices: Mapping[str, int] = mapping("prices by name", "of one")

    def __post_init__(self) -> None:
        require_allowed(self)


@dataclass(frozen=True, slots=True)
class LargeOven(Oven):
    """Declares one setting anew, and adds one."""

    loaves: int = whole(400, 1, 900, "in the large oven at once", paper=800)
    doors: int = whole(2, 1, 4, "of the oven")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loaves": 0}, "loaves: 0; allowed: an integer from 1 to 9"),
        ({"loaves": 10}, "loaves: 10; allowed: an integer from 1 to 9"),
        ({"loaves": 1.0}, "loaves: 1.0; allowed: an integer from 1 to 9"),
        ({"loaves": True}, "loaves: True; allowed: an integer from 1 to 9"),
        ({"loaves": None}, "loaves: None; allowed: an integer from 1 to 9"),
        ({"trays": 10}, "trays: 10; allowed: an integer from 2 to 8"),
        ({"trays": 5}, "trays: 5; allowed: a multiple of 2"),
        ({"heat": -1e-9}, "heat: -1e-09; allowed: a number from 0 to 1e+06"),
        ({"heat": False}, "heat: False; allowed: a number from 0 to 1e+06"),
        ({"heat": "1"}, "heat: '1'; allowed: a number from 0 to 1e+06"),
        ({"heat": 10**400}, f"heat: {shortened(str(10**400))}; allowed: a number from 0 to 1e+06"),
        ({"waste": 1}, "waste: 1; allowed: a number from 0, below 1"),
        ({"waste": float("nan")}, "waste: nan; allowed: a number from 0, below 1"),
        ({"form": ["round"]}, "form: ['round']; allowed: round, flat"),
        ({"open": 1}, "open: 1; allowed: true, false"),
        ({"label": 3}, "label: 3; allowed: a text"),
        ({"recipe": ["salt"]}, "recipe: ['salt']; allowed: a number and names"),
        ({"recipe": "1 chalk"}, "recipe: 'chalk'; allowed: salt, flour"),
        ({"prices": []}, "prices: []; allowed: prices by name"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_at_its_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Oven(**changes)
    assert (str(caught.value), caught.value.field) == (message, next(iter(changes)))


def test_both_ends_of_a_range_are_allowed_and_a_number_may_be_whole() -> None:
    assert Oven(loaves=1, trays=2, heat=0, waste=0, recipe="2 flour").heat == 0
    assert Oven(loaves=9, trays=8, heat=1e6).loaves == 9


def test_with_a_method_the_error_names_it_and_stands_at_its_settings() -> None:
    oven = Oven()
    object.__setattr__(oven, "loaves", 0)
    with pytest.raises(SettingsError) as caught:
        require_allowed(oven, "post")
    assert str(caught.value) == "post loaves: 0; allowed: an integer from 1 to 9"
    assert caught.value.field == "settings"


def test_a_preset_changes_what_the_fields_say_and_a_given_value_stands_over_it() -> None:
    assert presets_of(Oven) == ("fast", "paper")
    assert make_settings("oven", Oven, {}) == make_settings("oven", Oven, {"preset": "fast"}) == Oven()
    assert make_settings("oven", Oven, {"preset": "paper", "heat": 3}) == Oven(
        preset="paper", loaves=8, heat=3, form="flat", open=True
    )
    assert make_settings("oven", LargeOven, {"preset": "paper"}).loaves == 800


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"preset": "slow"}, "preset: 'slow'; allowed: fast, paper"),
        ({"preset": ["fast"]}, "preset: ['fast']; allowed: fast, paper"),
        ({"door": 1, "loaves": 0}, "settings: oven has no setting 'door'; allowed: preset, loaves, trays"),
    ],
)
def test_an_unknown_preset_or_setting_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{re.escape(message)}"):
        make_settings("oven", Oven, given)


def test_of_what_has_no_settings_none_is_allowed() -> None:
    with pytest.raises(SettingsError, match=r"^settings: heft has no setting 'door'; allowed: none$"):
        make_placer("heft", {"door": 1})


def test_what_is_inherited_keeps_its_place_and_what_it_declares_unless_it_is_declared_anew() -> None:
    own, inherited = declarations(LargeOven), declarations(Oven)
    assert list(own) == [*inherited, "doors"]
    assert own["loaves"].sentence == "in the large oven at once"
    assert {name for name in inherited if own[name] is not inherited[name]} == {"loaves"}


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
