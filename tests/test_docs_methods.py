"""docs/methods.md has every method of the registry, and says of each what the registry says."""

import re
from pathlib import Path

from engine.placers.registry import KINDS, PLACERS, PRESET_WORDS

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "methods.md").read_text()
LABEL, DOES, SOURCE, DETERMINED, TAKES, WHEN = range(6)


def rows() -> dict[str, list[str]]:
    """Name → the cells behind it."""
    found = re.findall(r"^\| `(\w+)` \|(.*)\|$", PAGE, flags=re.MULTILINE)
    return {name: [cell.strip() for cell in rest.split("|")] for name, rest in found}


def test_every_method_stands_there_in_the_order_of_the_registry() -> None:
    assert [(name, cells[LABEL]) for name, cells in rows().items()] == [
        (method.name, method.label) for method in PLACERS.values()
    ]
    for cells in rows().values():
        assert cells[SOURCE] and cells[WHEN]


def test_it_says_what_forms_say() -> None:
    assert {name: cells[DOES] for name, cells in rows().items()} == {
        name: method.does for name, method in PLACERS.items()
    }
    for method in PLACERS.values():
        assert method.kind in KINDS
        assert set(method.presets) <= set(PRESET_WORDS)


def test_what_draws_nothing_at_random_is_described() -> None:
    assert {name: cells[DETERMINED] for name, cells in rows().items()} == {
        name: "yes" if method.deterministic else "no" for name, method in PLACERS.items()
    }


def test_presets_policies_and_starts_are_described() -> None:
    for name, cells in rows().items():
        assert ("policy" in cells[TAKES]) == PLACERS[name].takes_policy
        assert ("start" in cells[TAKES]) == PLACERS[name].searches_from_start
        assert tuple(re.findall(r"`(\w+)`", cells[TAKES])) == PLACERS[name].presets


def test_the_first_lines_name_methods_alone() -> None:
    choice = PAGE.partition("## All methods")[0].partition("## Which")[2]
    named = set(re.findall(r"`(\w+)`", choice))
    assert named - set(PLACERS) == {"compare"}
