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
def test_what_is_told_is_what_counts(name: str, given: dict[str, Any]) -> None:
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
            'reward_unit="reference"; allowed: reference, second; what a reward of 1 is: `second` (published), or '
            "`reference`, the step time on the fastest single device without transfers",
        ),
        (
            ["placeto", "--preset", "paper"],
            "message_rounds=8; allowed: a whole number from 0 to 64; rounds of message passing in each direction "
            "(published: 8)",
        ),
        (
            ["hierarchical", "--preset", "paper"],
            "grouper_width=64; allowed: a whole number from 1 to 4096; width of the grouper's hidden layer "
            "(published: 64)",
        ),
        (
            ["rnn", "--preset", "paper"],
            "normalise_advantages=false; allowed: true, false; whether a batch's advantages are divided by their root "
            "mean square (published: false)",
        ),
        (["m_sct"], "iterations=50000; allowed: a whole number from 1 to 1000000000; of the simplex method, at most"),
        (
            ["training"],
            "samples=16; allowed: a whole number from 0 to 4096; passes sampled on a held-out graph beside the greedy "
            "one",
        ),
        (["nmt_4_layers"], "batch=128; allowed: a whole number from 1 to 65536; sentences in one step"),
        (["heft"], "heft has no settings"),
        ([], "random            method Random"),
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
            "sentence": "an edge whose x lies below is one to a favourite child",
        },
        {
            "name": "iterations",
            "default": 50000,
            "allowed": "a whole number from 1 to 1000000000",
            "sentence": "of the simplex method, at most",
        },
    ]
    assert main(["settings", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)
    assert {"auto", "training", "tiny_cnn"} <= set(names) <= set(api.what_has_settings())
    assert "heft" not in names


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["magic"], f"magic: there is no such name; allowed: {', '.join([*PLACERS, 'training', *ZOO])}"),
        (["rnn", "--preset", "slow"], "preset: 'slow'; allowed: fast, paper"),
        (["random", "--preset", "paper"], "settings: random has no setting 'preset'; allowed: batch"),
        (["--preset", "paper"], "--preset: no name is given; allowed: it with the name of a method"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", *arguments]) == 2
    assert capsys.readouterr().err == line + "\n"


def test_who_reads_the_first_line_alone_gets_no_error() -> None:
    command = [sys.executable, "-m", "engine", "settings", "placeto"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
