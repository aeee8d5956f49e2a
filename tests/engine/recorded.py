"""What every method says of small problems, to hold a change of structure against: no event and no figure may change.

`python -m tests.engine.recorded OUT.json` writes the whole streams of this checkout; two such files are compared with
any tool. `test_recorded.py` holds their digests, but for methods whose numbers torch or HiGHS computes: these may
differ in the last digit from one processor to the next, so theirs are compared on one machine.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np

from engine.errors import PlacetoError
from engine.events import Emitted, Json, NumberedEvent
from engine.placers.registry import PLACERS
from engine.prepared import PreparedGraph
from engine.problem import Budget
from engine.run.request import GivenPolicy, RunRequest
from engine.run.run import Run
from tests.engine.placers.small_problems import one_group_an_op, small_cluster, small_graph
from tests.engine.policies.small_policies import small_policy

PROBLEMS = {"small": (8, 2), "larger": (40, 3)}
"""ops, GPUs beside a CPU"""
SEEDS = (0, 1)
EVALUATIONS = 300
BY_A_LIBRARY = frozenset({"placeto", "rnn", "hierarchical", "post", "regal", "spotlight", "milp"})
WITH_A_POLICY = ("placeto", "auto")
BY_THE_CLOCK = frozenset({"elapsed_seconds", "wall_seconds", "engine_version"})
"""keys whose values say nothing of the method"""
ABOUT_THE_ANSWER = frozenset({"devices_used", "crossing_edges", "verdict", "prefer", "simplest", "proven", "proof"})
"""keys of a report that are derived from the answer, after the method has ended"""
RECORDED = Path(__file__).with_name("recorded.json")


def is_of_a_library(name: str) -> bool:
    """Whether torch or HiGHS computes numbers of the stream of that name."""
    return name.partition(",")[0] in BY_A_LIBRARY or "with a policy" in name


def streams(methods: Callable[[str], bool] = lambda _: True) -> Iterator[tuple[str, list[Json]]]:
    """Name and stream: the events as JSON, then the report, or the message of the error that ends the run."""
    for problem, (ops, devices) in PROBLEMS.items():
        graph, costs = small_graph(np.random.default_rng(ops), ops)
        prepared = PreparedGraph(graph, costs, one_group_an_op(graph, costs))
        for method in (name for name, row in PLACERS.items() if not row.streams_only):
            policies = [None, GivenPolicy(small_policy().to_bytes())] if method in WITH_A_POLICY else [None]
            for policy, seed in product(policies, SEEDS):
                name = f"{method}{' with a policy' if policy else ''}, {problem}, seed {seed}"
                if methods(name):
                    budget = Budget(EVALUATIONS)
                    request = RunRequest(
                        small_cluster(devices, cpu=True), method, budget, seed, policy=policy, robustness=False
                    )
                    yield name, _stream(prepared, request)


def _stream(prepared: PreparedGraph, request: RunRequest) -> list[Json]:
    reported: list[Json] = []

    def emit(event: Emitted) -> None:
        if isinstance(event, NumberedEvent):
            reported.append(event.to_json())

    try:
        reported.append(Run(prepared, request, emit, lambda: False).execute(None))
    except PlacetoError as error:
        reported.append(str(error))
    return [_without_times(each) for each in reported]


def _without_times(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in BY_THE_CLOCK | ABOUT_THE_ANSWER}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def digest(stream: list[Json]) -> str:
    """A short name for a whole stream; the last digits of its numbers, which a processor may round, do not count."""
    return hashlib.sha256(json.dumps(_rounded(stream), sort_keys=True).encode()).hexdigest()[:16]


def _rounded(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def main(path: Path) -> None:
    """Write the streams to `path`, and the digests that the test holds beside this file."""
    found = dict(streams())
    path.write_text(json.dumps(found, indent=1) + "\n")
    held = {name: digest(stream) for name, stream in found.items() if not is_of_a_library(name)}
    RECORDED.write_text(json.dumps(held, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
