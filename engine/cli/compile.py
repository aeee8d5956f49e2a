"""The command `compile`: runs every method once on a small graph, so that no later run waits for compilation."""

import argparse
import sys
from collections.abc import Iterator

import numpy as np

from engine import api
from engine.cli import Commands
from engine.files.compiled import compiled_anew
from engine.graphs.grouping.levels import nested_groupings
from engine.policies.course import REHEARSAL
from engine.zoo.random_graphs import random_graph

CLUSTER = "2xK80+cpu"
OPS = 6
STREAM = api.Stream(2, api.Pipeline.INFERENCE)
"""for the methods that place nothing else, and for a batch"""
EVALUATIONS = 40
"""with so many each method makes all its versions"""
OF_EXHAUSTIVE = 400
"""enough for the exhaustive search of so few ops, which refuses to begin with fewer"""


def add_compile(commands: Commands) -> None:
    """Add the command `compile`."""
    parser = commands.add_parser(
        "compile", help="compile the engine's native code now and keep it on disk, so that no run spends time on it"
    )
    parser.set_defaults(command=_compile)


def _compile(_parsed: argparse.Namespace) -> int:
    for line in run_everything_once():
        print(f"left out: {line}", file=sys.stderr)
    anew = compiled_anew()
    print(f"compiled: {len(anew)} functions" if anew else "nothing to compile", file=sys.stderr)
    return 0


def _explain(graph: api.PreparedGraph, cluster: api.Cluster) -> None:
    """Explain a placement and draw the ops, for the pages that do."""
    session = api.Session(graph, cluster)
    placement = session.by_group(session.allowed.argmax(axis=1))
    session.explain(placement)
    session.gains(placement)
    to_and_fro = np.arange(graph.grouping.group_count) % cluster.device_count
    session.stream_blocks(session.by_group(to_and_fro), STREAM)
    api.flat_view_to_bytes(graph, "ops")


def run_everything_once() -> Iterator[str]:
    """Run for a moment each method with each preset, a training, each method that takes a policy, an explanation.

    Yields a line for each method that cannot run: the Scotch library is not installed everywhere.
    """
    graph, cluster = random_graph("series-parallel", OPS, np.random.default_rng(0)), api.parse_cluster(CLUSTER)
    nested_groupings(graph.graph, graph.costs, 2)
    settings_of_training = {**REHEARSAL, "torch_device": "cpu"}
    training = api.TrainRequest((graph,), (), (cluster,), "compiled", settings=settings_of_training)
    policy = api.GivenPolicy(api.train(training, lambda _: None, lambda: False))
    _explain(graph, cluster)
    for method in api.methods():
        presets: list[dict[str, api.Json]] = [{"preset": name} for name in method.presets] or [{}]
        for settings, given in [*((preset, None) for preset in presets), *[({}, policy)] * method.takes_policy]:
            try:
                budget = api.Budget(OF_EXHAUSTIVE if method.name == "exhaustive" else EVALUATIONS)
                stream = STREAM if method.streams_only else None
                request = api.RunRequest(cluster, method.name, budget, 0, settings, policy=given, stream=stream)
                api.place(graph, request, lambda _: None, lambda: False)
            except api.InfeasibleError:
                continue  # the human expert has no rule for such names
            except api.PlacetoError as error:
                yield str(error)
