"""The command `compile`: every way through the engine once, on a small graph: no run then waits for compiled code."""

import argparse
import sys
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from engine import api
from engine.experiments.random_graphs import random_graph
from engine.simulator.compiled import compiled_anew

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
CLUSTER = "2xK80+cpu"
OPS = 6
"""few enough for the exhaustive search"""
EVALUATIONS = 800
TRAINING: dict[str, api.Json] = {
    "teacher_evaluations": 200,
    "imitation_steps": 1,
    "reinforcement_batches": 1,
    "varied_share": 1.0,
    "torch_device": "cpu",
}


def add_compile(commands: Commands) -> None:
    """`compile`"""
    parser = commands.add_parser(
        "compile", help="compile what is compiled on first use, so that no run's seconds go into it; kept on disk"
    )
    parser.set_defaults(command=_compile)


def _compile(_parsed: argparse.Namespace) -> int:
    run_everything_once()
    anew = compiled_anew()
    print(f"compiled: {len(anew)} functions" if anew else "nothing to compile", file=sys.stderr)
    return 0


def run_everything_once() -> None:
    """Each method, a training, and what takes a policy with the trained one, for a moment."""
    graph, cluster = random_graph("series-parallel", OPS, np.random.default_rng(0)), api.parse_cluster(CLUSTER)
    training = api.TrainRequest((graph,), (), (cluster,), "compiled", settings=TRAINING)
    policy = api.train(training, lambda _: None, lambda: False)
    for method in api.methods():
        for given in (None, policy) if method.takes_a_policy else (None,):
            request = api.RunRequest(cluster, method.name, api.Budget(EVALUATIONS), 0, policy=given)
            with suppress(api.InfeasibleError):  # the human expert has no rule for such names
                api.place(graph, request, lambda _: None, lambda: False)
