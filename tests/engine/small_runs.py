"""Runs of small graphs, and what is heard of them."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from engine.api import Budget, PreparedGraph, RunRequest
from engine.events import Baseline, Emitted, Episode, Event, NumberedEvent, Update
from tests.engine.placers.small_problems import one_group_an_op, small_cluster, small_graph

Heard = list[Emitted]
AUTO = pytest.param("auto", marks=pytest.mark.slow)
"""the name of a method that runs Scotch in a process of its own, as a parameter of a test"""


def prepared_graph(ops: int = 12) -> PreparedGraph:
    graph, costs = small_graph(np.random.default_rng(11), ops)
    return PreparedGraph(graph, costs, one_group_an_op(graph, costs))


def request(
    method: str, evaluations: int = 300, *, seed: int = 0, memory_bytes: int = 10**9, cpu: bool = True
) -> RunRequest:
    return RunRequest(small_cluster(2, memory_bytes=memory_bytes, cpu=cpu), method, Budget(evaluations), seed)


def events_of(heard: Heard) -> list[Event]:
    return [item.event for item in heard if isinstance(item, NumberedEvent)]


def without_times(event: Event) -> Event:
    if isinstance(event, Baseline):
        return dataclasses.replace(event, wall_seconds=None)
    return dataclasses.replace(event, elapsed_seconds=0.0) if isinstance(event, Episode | Update) else event


def without_seconds(report: dict[str, Any]) -> dict[str, Any]:
    own = {name: {**report[name], "seconds": 0} for name in ("robustness", "simplest")}
    return {**report, "wall_seconds": 0, **own}
