"""The command line's words about how a file is read."""

import argparse

import pytest

from engine.errors import SettingsError
from engine.graphs.reading_options import ReadingOptions
from engine.reading_arguments import add_reading_arguments, reading_options

RULE = "; allowed: NAME=LENGTHS, such as images=8,224,224,3"


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
    assert options("--signature", "s", "--batch-size", "4", *shapes) == ReadingOptions("s", 4, expected)


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["images"], f"--input-shape: images is no shape{RULE}"),
        (["=3"], f"--input-shape: =3 is no shape{RULE}"),
        (["x=3,,4"], f"--input-shape: x=3,,4 is no shape{RULE}"),
        (["x=-1,4"], f"--input-shape: x=-1,4 is no shape{RULE}"),
        (["x=3.5"], f"--input-shape: x=3.5 is no shape{RULE}"),
        (["x=12345678901"], f"--input-shape: x=12345678901 is no shape{RULE}"),
        (["x=3", "x=4"], "x: its shape is given twice; allowed: one shape an input"),
    ],
)
def test_a_shape_that_is_none_is_one_line(texts: list[str], line: str) -> None:
    with pytest.raises(SettingsError) as raised:
        options(*(part for text in texts for part in ("--input-shape", text)))
    assert str(raised.value) == line
