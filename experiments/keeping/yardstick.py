"""The best placement known of each problem, in one committed file that only ever improves.

A problem is a graph with its costs and groups on a cluster. Its key is a digest of all figures that decide a step's
time and memory, so that other costs, links, groups or another memory model are another problem. A line of the file has
the key, what people call the problem, the step time, the placement itself, what found it, and the day. Several
processes may offer placements at once.
"""

import dataclasses
import datetime
import hashlib
import json
import math
import string
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster_json import cluster_to_json
from engine.errors import PlacementError
from engine.files.whole_files import write_whole
from engine.problem import PlacementProblem
from experiments.folders import ROOT
from experiments.keeping.alone import alone_in
from experiments.keeping.code_state import code_state

YARDSTICK = ROOT / "docs/results/yardstick.jsonl"
SIMULATION = 1
"""raise it with a change of the simulator's figures: the file's step times are then those of other problems"""
DIGITS = 16
"""of a digest"""
SIGNS = string.digits + string.ascii_letters + "-_"
"""a placement is written with a sign for each group: the number of its device, of 64 at most"""
CLOSE = 1e-9
"""relative difference of two step times that counts as none"""


@dataclass(frozen=True, slots=True)
class FoundBy:
    """What found a placement."""

    method: str
    seed: int
    seconds: float
    """of the processor; 0 where there was no limit of time"""


@dataclass(frozen=True, slots=True)
class BestKnown:
    """A line of the file."""

    problem: str
    """the problem's key"""
    name: str
    """graph and cluster, for people"""
    groups: int
    memory_model: str
    step_time_us: float
    """in a stream, its period"""
    placement: str
    """a sign of `SIGNS` for each group"""
    digest: str
    """of the placement"""
    found_by: dict[str, Any]
    """`FoundBy`, and the state of the code (code_state.py)"""
    day: str


def key_of(problem: PlacementProblem) -> str:
    """A digest of all that decides step times and memory: graph, times, bytes, groups, where they may go, cluster; and
    the stream, if there is one."""
    graph, costs = problem.graph, problem.costs
    numbered = tuple(dataclasses.replace(each, name=str(number)) for number, each in enumerate(problem.cluster.devices))
    cluster = cluster_to_json(dataclasses.replace(problem.cluster, devices=numbered))
    digest = hashlib.sha256(json.dumps([SIMULATION, cluster], sort_keys=True).encode())
    digest.update("\n".join(graph.op_names).encode())
    arrays: tuple[NDArray[Any], ...] = (
        graph.edge_source,
        graph.edge_target,
        graph.edge_output,
        problem.op_time_us,
        costs.output_offset,
        costs.output_bytes,
        costs.persistent_bytes,
        costs.temporary_bytes,
        costs.trips_of_op(),
        problem.grouping.group_of_op,
        problem.allowed,
    )
    for array in arrays:
        digest.update(f"{array.shape}".encode() + np.ascontiguousarray(array, dtype=np.float64).tobytes())
    if problem.stream is not None:
        digest.update(json.dumps(problem.stream.to_json(), sort_keys=True).encode())
    return digest.hexdigest()[:DIGITS]


class Yardstick:
    """The best known placements in one file."""

    def __init__(self, path: Path = YARDSTICK) -> None:
        self._path = path

    def lines(self) -> dict[str, BestKnown]:
        """Key of a problem → its line, as the file is now."""
        if not self._path.exists():
            return {}
        read = (BestKnown(**json.loads(text)) for text in self._path.read_text().splitlines())
        return {line.problem: line for line in read}

    def best_us(self, problem: PlacementProblem) -> float | None:
        """The step time of the best known placement of `problem`, None if none is known.

        Raises PlacementError if the simulator gives another one now.
        """
        line = self.lines().get(key_of(problem))
        return None if line is None else _checked_us(problem, line)

    def offer(self, problem: PlacementProblem, placement: NDArray[np.int32], found_by: FoundBy, name: str) -> bool:
        """Keep `placement` [groups] if it fits and is faster than the best known; returns whether it was kept.

        `name` is what people call the problem. Raises PlacementError for a placement of another shape or with devices
        that a group may not use, or if the simulator gives the best known one another time than its line has.
        """
        step_time_us = _step_time_us(problem, placement)
        if step_time_us is None:
            return False
        line = BestKnown(
            problem=key_of(problem),
            name=name,
            groups=problem.group_count,
            memory_model=problem.cluster.memory_model.value,
            step_time_us=step_time_us,
            placement=written(placement),
            digest=hashlib.sha256(written(placement).encode()).hexdigest()[:DIGITS],
            found_by={**asdict(found_by), "code": code_state()},
            day=datetime.datetime.now(datetime.UTC).date().isoformat(),
        )
        with alone_in(self._path.parent):
            lines = self.lines()
            known = lines.get(line.problem)
            if known is not None and _checked_us(problem, known) <= step_time_us * (1 + CLOSE):
                return False
            lines[line.problem] = line
            ordered = sorted(lines.values(), key=lambda each: (each.name, each.problem))
            text = "".join(json.dumps(asdict(each), sort_keys=True) + "\n" for each in ordered)
            write_whole(self._path, text.encode())
        return True


def days_of(lines: Iterable[BestKnown]) -> str:
    """The first and the last day of the lines, in words for a page."""
    days = sorted(line.day for line in lines)
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "no day"


def written(placement: NDArray[np.int32]) -> str:
    """A placement [groups] as a text."""
    return "".join(SIGNS[device] for device in placement)


def read_placement(text: str) -> NDArray[np.int32]:
    """The inverse of `written`."""
    return np.array([SIGNS.index(sign) for sign in text], dtype=np.int32)


def _step_time_us(problem: PlacementProblem, placement: NDArray[np.int32]) -> float | None:
    """The simulated step time; None for a placement that does not fit the devices' memory."""
    evaluations = problem.simulator.evaluate(placement[None])
    if not problem.respects(placement[None]).all():
        raise PlacementError("a group is on a device that it may not use", where="placement")
    return float(evaluations.step_time_us[0]) if problem.feasible(evaluations)[0] else None


def _checked_us(problem: PlacementProblem, line: BestKnown) -> float:
    """The step time of `line`. Raises PlacementError if the simulator gives its placement another one."""
    step_time_us = _step_time_us(problem, read_placement(line.placement))
    if step_time_us is None or not math.isclose(step_time_us, line.step_time_us, rel_tol=CLOSE):
        what = f"its best known placement takes {step_time_us} µs, not {line.step_time_us}"
        raise PlacementError(what, where=line.name, advice="the simulator has changed: raise SIMULATION")
    return line.step_time_us
