"""The commands `bench` and `experiments`, which name the command that replaced them."""

import argparse

from engine.cli import Commands
from engine.errors import SettingsError

NOW = {
    "bench": ("benchmarks stand beside the experiments", "python -m experiments bench"),
    "experiments": ("experiments have a command of their own", "python -m experiments"),
}
"""former command → why, and the present one, which takes the same arguments"""


def add_moved(commands: Commands) -> None:
    """Add the former commands, each for its one line."""
    for name, (_, now) in NOW.items():
        parser = commands.add_parser(name, help=f"now `{now}`")
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help="as before")
        parser.set_defaults(command=_moved, moved=name)


def _moved(parsed: argparse.Namespace) -> int:
    what, now = NOW[parsed.moved]
    raise SettingsError(what, where=parsed.moved, allowed=now)
