"""`placeto runs` and `placeto watch`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from placeto.commands.answers import require_names, write_answer
from placeto.commands.arguments import add_answer, positive
from placeto.remote.client import Client
from placeto.remote.progress import time_words
from placeto.remote.runs import Run

USUAL_LIMIT = 20


def add_runs(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("runs", help="list the newest runs")
    command.add_argument("--project", metavar="NAME", help="of this project alone")
    command.add_argument("--limit", type=positive, metavar="N", default=USUAL_LIMIT, help="how many, 20 by default")
    command.set_defaults(command=_runs)


def add_watch(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("watch", help="wait for the answer of a run, and show how far it is")
    command.add_argument("run", metavar="RUN", help="its id, or the address of its page")
    add_answer(command)
    command.set_defaults(command=_watch)


def _runs(options: argparse.Namespace) -> int:
    client = Client()
    project = None if options.project is None else client.project(options.project)
    for run in client.runs(project, options.limit):
        print(_line(run))
    return 0


def _line(run: Run) -> str:
    best = "" if run.best_step_time_us is None else time_words(run.best_step_time_us)
    return f"{run.id}  {run.created_at:%Y-%m-%d %H:%M}  {run.status:<9}  {best:>10}  {' '.join(run.title.split())}"


def _watch(options: argparse.Namespace) -> int:
    require_names(options)
    run = Client().run(options.run.rstrip("/").rpartition("/")[2])
    print(run.address, file=sys.stderr)
    write_answer(run.watch(), options)
    return 0
