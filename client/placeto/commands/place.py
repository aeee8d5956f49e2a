"""`placeto place`: a graph's placement, from a server, or from the engine where it is installed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from placeto.commands.answers import require_names, write_answer
from placeto.commands.arguments import add_answer, positive
from placeto.commands.local import place_here
from placeto.errors import ClientError
from placeto.remote.client import Client


def add_place(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("place", help="place a graph")
    command.add_argument("graph", metavar="GRAPH", help="a file: .pb, .onnx, .json.gz and others")
    command.add_argument("--cluster", required=True, help="2xK80, 4xV100+cpu, or a file of cluster JSON")
    command.add_argument("--method", help="auto by default")
    command.add_argument("--evaluations", type=positive, metavar="N", help="the budget, 2000 by default")
    command.add_argument("--seconds", type=float, metavar="S", help="also stop after these seconds")
    command.add_argument("--seed", type=int, metavar="S", help="of all random numbers, 0 by default")
    command.add_argument("--batch-size", type=positive, metavar="N", help="of a graph that leaves it open")
    command.add_argument("--groups", metavar="N|all|auto", help="how ops are merged before a search")
    command.add_argument("--project", metavar="NAME", help="where the graph goes; made where none is called so")
    command.add_argument("--name", metavar="NAME", help="of the run, for lists")
    command.add_argument("--watch", action="store_true", help="wait for the answer, and show how far it is")
    add_answer(command)
    command.add_argument("--local", action="store_true", help="run the engine here, without a server")
    command.add_argument(
        "--engine", metavar="PATH", help="with --local: the Python or the placeto-engine that has it; else this Python"
    )
    command.set_defaults(command=_place)


def _place(options: argparse.Namespace) -> int:
    if options.local:
        for name in ("project", "name"):
            if getattr(options, name) is not None:
                raise ClientError(f"--{name} is of a server, and --local asks none")
        return place_here(options)
    if options.engine is not None:
        raise ClientError("--engine goes with --local")
    require_names(options)
    reading = {"batch_size": options.batch_size, "groups": options.groups}
    client = Client()
    graph = client.upload(
        Path(options.graph), options.project, reading={name: value for name, value in reading.items() if value}
    )
    given = {name: getattr(options, name) for name in ("method", "evaluations", "seconds", "seed")}
    run = client.start(graph, options.cluster, name=options.name or "", **given)
    print(run.address, file=sys.stderr)
    if not (options.watch or options.out or options.report):
        print(run.id)
        return 0
    write_answer(run.watch(), options)
    return 0
