"""The command line's words about how a file is read."""

import argparse

import pytest

from engine.cli.reading_arguments import add_reading_arguments, reading_options
from engine.errors import SettingsError
from engine.graphs.reading_options import ReadingOptions, tags_of_text, tags_text

RULE = "; allowed: NAME=LENGTHS, such as images=8,224,224,3, with ? for a length that stays open"
TRIPS = "allowed: NAME=N, such as while=40"


def options(*arguments: str) -> ReadingOptions:
    parser = argparse.ArgumentParser()
    add_reading_arguments(parser)
    return reading_options(parser.parse_args(arguments))


def test_nothing_said_is_the_file_as_it_is() -> None:
    assert options() == ReadingOptions()


def test_all_of_them() -> None:
    shapes = (
        "--input-shape",
        "a/x=8,224,3",
        "--input-shape",
        "b=[2, 3]",
        "--input-shape",
        "c=",
        "--input-shape",
        "d=[]",
    )
    expected = {"a/x": (8, 224, 3), "b": (2, 3), "c": (), "d": ()}
    counts = ("--trips", "a/while=40", "--trips", "b=c=1", "--size", "Where= 0")
    whole = ReadingOptions("s", 4, expected, {"a/while": 40, "b=c": 1}, {"Where": 0}, offload=True)
    assert options("--signature", "s", "--batch-size", "4", *shapes, *counts, "--offload") == whole


def test_tags_are_those_of_saved_model_cli_and_fetches_are_once_each() -> None:
    for texts, tags in ((["train"], ("train",)), ([""], ()), (['""'], ()), (["serve, gpu"], ("gpu", "serve"))):
        assert options("--tags", *texts) == ReadingOptions(tags=tags)
        assert tags_of_text(tags_text(tags)) == tags
    assert options("--fetch", "b:0", "--fetch", "a", "--fetch", "b:0") == ReadingOptions(fetches=("b:0", "a"))


def test_options_are_stored_as_they_are_and_older_rows_have_none() -> None:
    for given in (
        ReadingOptions(fetches=("a", "b:1")),
        ReadingOptions("s", tags=()),
        ReadingOptions(tags=("gpu", "x")),
    ):
        assert ReadingOptions.from_json(given.to_json()) == given
    assert ReadingOptions.from_json({"signature": "", "batch_size": None, "input_shapes": {}}) == ReadingOptions()


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["images"], f"--input-shape: images is not a shape{RULE}"),
        (["=3"], f"--input-shape: =3 is not a shape{RULE}"),
        (["x=3,,4"], f"--input-shape: x=3,,4 is not a shape{RULE}"),
        (["x=-1,4"], f"--input-shape: x=-1,4 is not a shape{RULE}"),
        (["x=3.5"], f"--input-shape: x=3.5 is not a shape{RULE}"),
        (["x=12345678901"], f"--input-shape: x=12345678901 is not a shape{RULE}"),
        (["x=3", "x=4"], "x: its shape is given twice; allowed: one shape an input"),
    ],
)
def test_a_shape_that_is_none_is_one_line(texts: list[str], line: str) -> None:
    with pytest.raises(SettingsError) as raised:
        options(*(part for text in texts for part in ("--input-shape", text)))
    assert str(raised.value) == line


@pytest.mark.parametrize(
    ("option", "texts", "line"),
    [
        ("--trips", ["while"], f"--trips: while is no number of trips; {TRIPS}"),
        ("--trips", ["=3"], f"--trips: =3 is no number of trips; {TRIPS}"),
        ("--trips", ["while=many"], f"--trips: while=many is no number of trips; {TRIPS}"),
        ("--trips", ["while=1.5"], f"--trips: while=1.5 is no number of trips; {TRIPS}"),
        ("--trips", ["while=²"], f"--trips: while=² is no number of trips; {TRIPS}"),
        ("--trips", [f"while={10**18}"], f"while: {10**18} trips; allowed: an integer from 1 to 1000000000"),
        ("--trips", ["a=1", "a=1"], "--trips: a is there twice; allowed: each name once"),
        ("--size", ["Where="], "--size: Where= is no size; allowed: NAME=N, such as Where=100"),
        ("--size", [f"Where={2**63}"], f"Where: the length {2**63}; allowed: an integer from 0 to {2**31 - 1}"),
    ],
)
def test_a_count_that_is_none_is_one_line(option: str, texts: list[str], line: str) -> None:
    with pytest.raises(SettingsError) as raised:
        options(*(part for text in texts for part in (option, text)))
    assert str(raised.value) == line
