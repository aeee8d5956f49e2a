"""What the helps say is so: each option is told, and the default that is told is the one that counts."""

import argparse
import re
from collections.abc import Iterator

import pytest

from engine.cli.main import make_parser

TOLD_AND_COMPUTED = {
    "place --method": "auto; with a policy placeto",
    "place --evaluations": "2000; with --policy and placeto what its one pass takes",
    "train --seconds": "3600",
    "train --name": "that of the file",
    "train --test-count": "all",
    "compare --out": "GRAPH.comparison",
    "build --count": "32",
    "build --seed": "0",
    "profile --threads": "as many as processors",
    "measure --threads": "the processors, shared among the devices",
    "measure --kept": "the placements' name with .rounds.json",
    "measure --rounds": "3",
}
"""of options without a default of their own: what their command does without them; tests of the commands show it"""
OF_READING = {
    "--micro-batches": "8",
    "--pipeline": "1f1b with a backward pass, else inference",
    "--recompute": "none",
    "--signature": "serving_default, or the only one",
    "--tags": "the only graph, or the one with the tag serve alone",
    "--fetch": "without either: all but ops that only initialise, save or write summaries",
}


def every_option() -> Iterator[tuple[str, argparse.Action]]:
    """Command and option, positional ones too."""
    for name, command in commands().items():
        for action in command._actions:
            yield f"{name} {action.option_strings[-1] if action.option_strings else action.dest}", action


def commands() -> dict[str, argparse.ArgumentParser]:
    (choice,) = [each for each in make_parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(choice.choices)


@pytest.mark.parametrize(("name", "option"), [each for each in every_option() if not each[0].endswith("--help")])
def test_each_option_is_described_with_its_default(name: str, option: argparse.Action) -> None:
    assert option.help, f"{name} has no help"
    found = re.search(r"\(default:? ([^)]*)\)", option.help % vars(option))
    described = found[1] if found else None
    if option.default is None or option.default is False or option.default in ("", []):
        assert described == OF_READING.get(name.rpartition(" ")[2], TOLD_AND_COMPUTED.get(name))
    else:
        assert described == str(option.default)


def test_each_default_that_is_computed_is_of_an_option() -> None:
    assert set(TOLD_AND_COMPUTED) <= {name for name, _ in every_option()}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("place", "METHOD"),
        ("compare", "METHOD"),
        ("train", "training"),
        ("build", "NAME"),
    ],
)
def test_each_command_with_settings_says_where_they_are_described(command: str, name: str) -> None:
    help_text = " ".join(commands()[command].format_help().split())
    assert f"`python -m engine settings {name}` lists them" in help_text
