"""The command `placeto`: records models, and places graphs on a server or here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from placeto.commands.login import add_login, add_logout
from placeto.commands.place import add_place
from placeto.commands.record import add_record
from placeto.commands.runs import add_runs, add_watch
from placeto.errors import ClientError, InfeasibleError, RecordingError

DONE, BAD_INPUT, INFEASIBLE, INTERRUPTED = 0, 2, 3, 130
COMMANDS = (add_record, add_login, add_logout, add_place, add_runs, add_watch)
"""functions that add the commands, in the order of the help"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status: 0 done, 2 with one line for what the person can mend, 3 infeasible."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except InfeasibleError as error:
        return _say(str(error), INFEASIBLE)
    except (RecordingError, ClientError) as error:
        return _say(str(error), BAD_INPUT)
    except OSError as error:
        return _say(f"{error.filename}: {error.strerror}", BAD_INPUT)
    except KeyboardInterrupt:
        return INTERRUPTED


def _say(words: str, status: int) -> int:
    print(f"placeto: {' '.join(words.split())}", file=sys.stderr)
    return status


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        """One line in place of the usage."""
        sys.exit(_say(message, BAD_INPUT))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="placeto", description="Records steps of PyTorch models, and places graphs on devices.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    for add in COMMANDS:
        add(commands)
    return parser
