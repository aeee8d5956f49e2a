"""The command line: reads arguments, calls `engine.api`, prints a report or a one-line error. One file a command."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from engine.cli.build import add_build
from engine.cli.calibrate import add_calibrate
from engine.cli.choose import add_choose
from engine.cli.compare import add_compare
from engine.cli.compile import add_compile
from engine.cli.inspect import add_inspect
from engine.cli.listing import add_methods, add_settings_list
from engine.cli.measure import add_measure, add_profile
from engine.cli.moved import add_moved
from engine.cli.place import add_place
from engine.cli.plan import add_plan
from engine.cli.simulate import add_apply, add_simulate
from engine.cli.train import add_train
from engine.errors import PlacetoError

COMMANDS = (
    add_methods,
    add_settings_list,
    add_inspect,
    add_place,
    add_train,
    add_compare,
    add_plan,
    add_choose,
    add_simulate,
    add_apply,
    add_profile,
    add_measure,
    add_calibrate,
    add_build,
    add_compile,
    add_moved,
)
"""functions that add the commands, in the order of the help"""
INSTALLED_NAME = "placeto-engine"
"""the command that `pip install .` adds"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 unread, 2 bad input, 3 infeasible, 130 interrupted.

    Without `arguments` it takes the process's: an installation starts it as `placeto-engine`.
    """
    return run_parsed(make_parser().parse_args(arguments))


def run_parsed(parsed: argparse.Namespace) -> int:
    """Call the `command` of parsed arguments and return its exit status."""
    command: Callable[[argparse.Namespace], int] = parsed.command
    try:
        return command(parsed)
    except PlacetoError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:  # the reader of stdout has closed it, so the rest of the output is dropped
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(prog=_program(), description="Places computation graphs on devices.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(commands)
    return parser


def _program() -> str:
    """The words that start this process."""
    return INSTALLED_NAME if Path(sys.argv[0]).name == INSTALLED_NAME else "python -m engine"
