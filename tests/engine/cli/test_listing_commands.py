"""What can be set is told, of everything that has settings, and as it is."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from engine import api
from engine.cli.graph_arguments import settings_of_pairs
from engine.cli.main import main
from engine.placers.registry import PLACERS
from engine.settings.fields import declarations
from engine.zoo import ZOO

PRESETS = {method.name: method.presets for method in api.methods() if method.presets}


def every_owner() -> Iterator[tuple[str, dict[str, Any]]]:
    """Names, and what is given: each preset where there are some."""
    for name in api.what_has_settings():
        for given in [{"preset": preset} for preset in PRESETS.get(name, ())] or [{}]:
            yield name, given


def test_the_names_are_those_of_the_registries_each_once() -> None:
    assert list(api.what_has_settings()) == [*PLACERS, "training", *ZOO]


@pytest.mark.parametrize("name", api.what_has_settings())
def test_each_setting_is_declared_with_a_sentence_and_what_it_takes(name: str) -> None:
    made = api.what_has_settings()[name]({})
    assert all(each.sentence and each.allowed for each in declarations(made).values())
    for setting, declaration in declarations(made).items():
        assert declaration.not_allowed(None) == declaration.allowed, setting


@pytest.mark.parametrize("name", PRESETS)
def test_fields_have_values_for_each_preset_but_the_first_which_is_the_defaults(name: str) -> None:
    made = api.what_has_settings()[name]({})
    named = {preset for each in declarations(made).values() for preset in each.presets}
    assert named == set(PRESETS[name][1:])


@pytest.mark.parametrize(("name", "given"), list(every_owner()))
def test_what_is_listed_is_what_counts(name: str, given: dict[str, Any]) -> None:
    make = api.what_has_settings()[name]
    settings = api.list_settings(make, given)
    assert {each.name: each.default for each in settings} == dataclasses.asdict(make(given))
    for each in settings:
        assert each.allowed and each.sentence
        assert settings_of_pairs([f"{each.name}={json.dumps(each.default)}"]) == {each.name: each.default}
        assert make({**given, each.name: each.default}) == make(given)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["placeto"],
            'reward_unit="reference"; allowed: reference, second; unit of the reward: `second` (published), or '
            "`reference`, the step time on the fastest single device without transfers",
        ),
        (
            ["placeto", "--preset", "paper"],
            "message_rounds=8; allowed: an integer from 0 to 64; rounds of message passing in each direction "
            "(published: 8)",
        ),
        (
            ["hierarchical", "--preset", "paper"],
            "grouper_width=64; allowed: an integer from 1 to 4096; width of the grouper's hidden layer (published: 64)",
        ),
        (
            ["rnn", "--preset", "paper"],
            "normalise_advantages=false; allowed: true, false; whether a batch's advantages are divided by their root "
            "mean square, but by no less than 0.01, so that placements that are nearly alike teach little "
            "(published: false)",
        ),
        (
            ["m_sct"],
            "iterations=50000; allowed: an integer from 1 to 1000000000; most iterations of the simplex method",
        ),
        (
            ["training"],
            "samples=16; allowed: an integer from 0 to 4096; passes sampled on a held-out graph beside the greedy one",
        ),
        (["nmt_4_layers"], "batch=128; allowed: an integer from 1 to 65536; sentences in one step"),
        (["heft"], "heft has no settings"),
        ([], "random                 method Random"),
    ],
)
def test_a_line_a_setting(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", *arguments]) == 0
    assert line in capsys.readouterr().out.splitlines()


def test_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "m_sct", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "name": "threshold",
            "default": 0.5,
            "allowed": "a number from 0 to 0.5",
            "sentence": "an edge leads to a favourite child if its x is below this",
        },
        {
            "name": "iterations",
            "default": 50000,
            "allowed": "an integer from 1 to 1000000000",
            "sentence": "most iterations of the simplex method",
        },
    ]
    assert main(["settings", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)
    assert {"auto", "training", "tiny_cnn"} <= set(names) <= set(api.what_has_settings())
    assert "heft" not in names


@pytest.mark.parametrize(("name", "given"), list(every_owner()))
def test_the_schema_takes_the_defaults_and_says_what_is_allowed(name: str, given: dict[str, Any]) -> None:
    make = api.what_has_settings()[name]
    schema: Any = api.settings_schema(name, make, given)
    assert schema["title"] == name and schema["additionalProperties"] is False
    assert {key: each["default"] for key, each in schema["properties"].items()} == dataclasses.asdict(make(given))
    for key, each in schema["properties"].items():
        for value in [each["default"], *around_the_ends(each)]:
            assert fits_schema(each, value) == is_taken(make, key, value), (name, key, value)


def around_the_ends(schema: dict[str, Any]) -> list[Any]:
    """Values within and without: just past each end of a range, other types."""
    lowest, highest = schema.get("minimum", 0), schema.get("maximum", schema.get("exclusiveMaximum", 0))
    step = schema.get("multipleOf", 1)
    return [lowest - step, highest + step, lowest - 1e-12, None, True, "magic", [], {}, *schema.get("enum", [])]


def fits_schema(schema: dict[str, Any], value: Any) -> bool:
    """Whether a JSON value is valid: as much of draft 2020-12 as is used."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    types = {
        "integer": number and value == int(value),
        "number": number,
        "boolean": isinstance(value, bool),
        "string": isinstance(value, str),
    }
    if not types[schema["type"]] or value not in schema.get("enum", [value]):
        return False
    return not number or (
        schema["minimum"] <= value <= schema.get("maximum", value)
        and value < schema.get("exclusiveMaximum", value + 1)
        and value % schema.get("multipleOf", 1 if schema["type"] == "integer" else value or 1) == 0
    )


def is_taken(make: api.MakeSettings, name: str, value: Any) -> bool:
    """Whether the setting takes the value, as far as one setting alone says it."""
    declaration = declarations(make({}))[name]
    if declaration.read is not None:
        return isinstance(value, str)
    return declaration.not_allowed(value) is None


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "m_sct", "--json-schema"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "m_sct",
        "type": "object",
        "properties": {
            "threshold": {
                "description": "an edge leads to a favourite child if its x is below this",
                "type": "number",
                "minimum": 0.0,
                "maximum": 0.5,
                "default": 0.5,
            },
            "iterations": {
                "description": "most iterations of the simplex method",
                "type": "integer",
                "minimum": 1,
                "maximum": 10**9,
                "default": 50_000,
            },
        },
        "additionalProperties": False,
    }
    assert main(["settings", "placeto", "--preset", "paper", "--json-schema"]) == 0
    assert json.loads(capsys.readouterr().out)["properties"]["reward_unit"]["default"] == "second"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["magic"], f"magic: there is no such name; allowed: {', '.join([*PLACERS, 'training', *ZOO])}"),
        (["rnn", "--preset", "slow"], "preset: 'slow'; allowed: fast, paper"),
        (["random", "--preset", "paper"], "settings: random has no setting 'preset'; allowed: batch"),
        (["--json-schema"], "--json-schema: no name is given; allowed: it with a name of the list"),
        (["--preset", "paper"], "--preset: no name is given; allowed: it with the name of a method"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", *arguments]) == 2
    assert capsys.readouterr().err == line + "\n"


@pytest.mark.slow
def test_who_reads_the_first_line_alone_gets_no_error() -> None:
    command = [sys.executable, "-m", "engine", "settings", "placeto"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
