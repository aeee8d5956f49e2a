"""Writes docs/models.md, the suite's page; with a model's name it writes that model's file.

python -m tests.models [--set only=gpt,lstm_40] [--out FOLDER]     # makes missing rows, writes the page
python -m tests.models NAME [--form FORM] [--out FOLDER]           # writes one file
python -m tests.models --list                                      # lists the models
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.cli.graph_arguments import settings_of_pairs
from engine.cli.main import run_parsed
from tests.models import table
from tests.models.making import file_of, make
from tests.models.model import FORMS, SAVED_MODEL
from tests.models.registry import MODELS


def main(arguments: Sequence[str]) -> int:
    """Carry out the command; its exit status is as of `python -m engine`."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.models", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="?", choices=list(MODELS), metavar="NAME", help="a model: write its file")
    parser.add_argument("--form", choices=list(FORMS), default=SAVED_MODEL, help="of the file (default %(default)s)")
    parser.add_argument("--list", action="store_true", help="list the models")
    parser.add_argument("--out", type=Path, help="folder (default docs; for a model's file this one)")
    settings = ", ".join(table.SETTINGS)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=JSON", help=f"for the page: {settings}")
    parser.set_defaults(command=_run)
    return run_parsed(parser.parse_args(arguments))


def _run(parsed: argparse.Namespace) -> int:
    if parsed.list:
        for name, model in MODELS.items():
            print(f"{name:28}{model.sentence}; {', '.join(model.forms)}")
    elif parsed.name is None:
        print(table.run(parsed.out or Path("docs"), _report, settings_of_pairs(parsed.set)))
    else:
        _write(parsed.name, parsed.form, parsed.out or Path())
    return 0


def _write(name: str, form: str, folder: Path) -> None:
    """Write the file of one model and print its closed forms."""
    closed_forms = make(name, [form], folder, lambda stage, *_: _report(stage))
    print(f"{file_of(name, form, folder)}: batch size {MODELS[name].batch_size}, {closed_forms}")


def _report(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
