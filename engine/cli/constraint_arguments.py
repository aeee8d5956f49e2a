"""The argument for constraints on placements."""

import argparse

from engine import api


def add_constraints(parser: argparse.ArgumentParser) -> None:
    """Add `--constraint`."""
    parser.add_argument(
        "--constraint",
        action="append",
        default=[],
        metavar="RULE",
        help="`together OPS …`, `apart OPS OPS …` or `off OPS … DEVICE`, as often as needed; OPS is an op's name, "
        "where a * stands for any text, DEVICE a name, kind or class; a text may have several rules, one on each line",
    )


def constraints_of(parsed: argparse.Namespace) -> api.Constraints:
    """The constraints that are asked for. Raises SettingsError."""
    return api.Constraints.of_text("\n".join(parsed.constraint))
