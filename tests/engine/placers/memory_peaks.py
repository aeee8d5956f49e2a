"""Measures what runs of all methods take: `python -m tests.engine.placers.memory_peaks`, a line of JSON each.

Each run is in a process of its own, forked from one that has loaded all, after a first run on a few groups. Linux only.
"""

import contextlib
import dataclasses
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import InfeasibleError
from engine.events import Json
from engine.placers.memory import ProblemSize
from engine.placers.registry import PLACERS, make_placer, settings_dataclass_of
from engine.problem import PlacementProblem
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.placers.small_problems import small_problem


@dataclass(frozen=True)
class Measured:
    """A problem on which a method's peak is clear of what any process takes, and soon reached."""

    groups: int = 300
    devices: int = 32
    evaluations: int = 80
    settings: dict[str, Json] = field(default_factory=dict)


MEASURED: dict[str, list[Measured]] = {
    "exhaustive": [Measured(6, 3, 10_000)],
    "pipeline_dp": [Measured(24, 6)],
    "milp": [Measured(60, 16, settings={"start_share": 0.0, "nodes": 1})],
    "rnn": [Measured(200, 4, 9)],
    "hierarchical": [Measured(200, 8, 9)],
    "placeto": [Measured(150, 32, 17, {"epochs": 1}), Measured(40, 4, 9, {"preset": "paper", "reward": "terminal"})],
    "post": [Measured(settings={"cross_entropy_samples": 60, "ppo_samples": 60})],
    "regal": [Measured(150, 32, 200)],
    "spotlight": [Measured(150, 32, 21, {"ppo_steps": 1})],
}
"""method → what is measured of it; one run on the usual problem of each other"""


def main() -> None:
    """Measure one method after the other."""
    import engine.placers.regal.actor
    import engine.placers.sequence.training
    import engine.placers.spotlight.actor
    import engine.placeto.training  # noqa: F401  # all load torch, which would count

    _place("local_search", {}, small_problem(1, devices=2, evaluations=2))  # loads compiled code that most run
    for method in sys.argv[1:] or PLACERS:
        for measured in MEASURED.get(method, [Measured()]):
            child = os.fork()
            if child == 0:
                print(json.dumps(_peak(method, measured)), flush=True)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0, method


def _peak(method: str, measured: Measured) -> dict[str, Any]:
    _place(method, measured.settings, small_problem(1, devices=2, evaluations=measured.evaluations))
    gpus = measured.devices - 1
    problem = small_problem(1, ops=measured.groups, devices=gpus, evaluations=measured.evaluations)
    graph = problem.graph
    size = ProblemSize(measured.groups, measured.devices, graph.op_count, graph.edge_count)
    settings = settings_dataclass_of(make_placer(method, measured.settings))
    before_bytes = _of_process("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # begins the peak anew
    _place(method, measured.settings, problem)
    taken = _of_process("VmHWM") - before_bytes
    return {"method": method, "taken": taken, "estimated": PLACERS[method].memory.bytes_of(settings, size)}


def _place(method: str, settings: dict[str, Json], problem: PlacementProblem) -> None:
    if PLACERS[method].streams_only:
        problem = dataclasses.replace(problem, stream=Stream(4, Pipeline.INFERENCE))
    with contextlib.suppress(InfeasibleError):  # no rule for this graph
        make_placer(method, settings).place(problem, np.random.default_rng(0), lambda: False)


def _of_process(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main()
