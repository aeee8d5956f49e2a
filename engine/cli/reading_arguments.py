"""Command-line arguments for the options of reading a graph's file (`ReadingOptions`)."""

import argparse
import re
from collections.abc import Sequence

from engine.errors import SettingsError, shortened
from engine.graphs.reading_options import OPEN_LENGTH, ReadingOptions, tags_of_text

SHAPE_RULE = "NAME=LENGTHS, such as images=8,224,224,3, with ? for a length that stays open"
TRIPS_RULE = "NAME=N, such as while=40"
SIZE_RULE = "NAME=N, such as Where=100"
_SHAPE = re.compile(r"\[?\s*((?:(?:[0-9]{1,10}|\?)\s*,\s*)*(?:[0-9]{1,10}|\?))?\s*,?\s*\]?\Z", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,19}\Z", re.ASCII)


def add_reading_arguments(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add `--signature`, `--tags`, `--fetch`, `--batch-size`, `--input-shape`, `--trips`, `--size` and `--offload`."""
    parser.add_argument(
        "--signature", default="", metavar="NAME", help="of a SavedModel (default serving_default, or the only one)"
    )
    parser.add_argument(
        "--tags",
        type=tags_of_text,
        metavar="TAGS",
        help='the tags of the graph to read of a SavedModel that holds several: train, or serve,gpu, or "" for the one '
        "without tags (default: the only graph, or the one with the tag serve alone)",
    )
    parser.add_argument(
        "--fetch",
        action="append",
        default=[],
        metavar="NAME",
        help="an op, or its output as NAME:0, that a step fetches, once for each, in place of a signature or what the "
        "file names (default without either: all but ops that only initialise, save or write summaries)",
    )
    parser.add_argument("--batch-size", type=int, metavar="N", help="for inputs whose first dimension is unknown")
    parser.add_argument(
        "--input-shape",
        action="append",
        default=[],
        metavar="NAME=LENGTHS",
        help="an input's shape, ? for a length that stays open: images=8,224,224,3",
    )
    parser.add_argument(
        "--trips",
        action="append",
        default=[],
        metavar="NAME=N",
        help="how often a step runs a loop's body, where the file leaves it open: while=40",
    )
    parser.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=N",
        help="the length of an op's output that depends on data: Where=100",
    )
    parser.add_argument(
        "--offload",
        action="store_true",
        help="of a recording or node-link JSON of inference: weights may wait in CPU memory and are copied to their "
        "ops in each step, as accelerate does",
    )


def reading_options(parsed: argparse.Namespace) -> ReadingOptions:
    """The reading options from these arguments. Raises SettingsError."""
    return ReadingOptions(
        parsed.signature,
        parsed.batch_size,
        _shapes(parsed.input_shape),
        _counts(parsed.trips, "--trips", "no number of trips", TRIPS_RULE),
        _counts(parsed.size, "--size", "no size", SIZE_RULE),
        tuple(dict.fromkeys(parsed.fetch)),
        parsed.tags,
        parsed.offload,
    )


def _shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, separator, written = text.rpartition("=")
        match = _SHAPE.match(written.strip())
        if not separator or not name or match is None:
            raise SettingsError(f"{shortened(text)} is not a shape", where="--input-shape", allowed=SHAPE_RULE)
        if name in shapes:
            raise SettingsError("its shape is given twice", where=shortened(name), allowed="one shape an input")
        lengths = [length.strip() for length in (match[1] or "").split(",") if length]
        shapes[name] = tuple(OPEN_LENGTH if length == "?" else int(length) for length in lengths)
    return shapes


def _counts(texts: Sequence[str], option: str, fault: str, rule: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for text in texts:
        name, separator, number = text.rpartition("=")
        if not separator or not name or _COUNT.match(number.strip()) is None:
            raise SettingsError(f"{shortened(text)} is {fault}", where=option, allowed=rule)
        if name in counts:
            raise SettingsError(f"{shortened(name)} is there twice", where=option, allowed="each name once")
        counts[name] = int(number)
    return counts
