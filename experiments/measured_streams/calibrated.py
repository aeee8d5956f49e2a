"""This machine as a cluster for a pipeline's processes: gloo's links, and what an op costs beside its work."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from engine import api
from engine.child.machine_memory import machine_memory_bytes
from engine.clusters.calibration import Calibration, MeasuredFigure
from engine.clusters.cluster import Cluster, Contention
from engine.measuring.calibrating.calibration import contention_of, link_figures_of, today
from engine.measuring.calibrating.fitting import Times
from engine.measuring.this_machine import machine_words
from experiments.measured_streams.running import of_all_ranks

ROUNDS, STEPS = 5, 10
SECONDS = 600.0
LATENCY, BANDWIDTH, FURTHER = "latency_us", "bandwidth_bytes_per_us", "further_small_transfer_us"


def measured_link() -> dict[str, MeasuredFigure]:
    """The figures of gloo's link between two processes, by the trials of a calibration."""
    of_ranks = of_all_ranks("link", {"rounds": ROUNDS, "steps": STEPS}, 2, SECONDS)
    return link_figures_of(times_of(of_ranks))


def times_of(of_ranks: Sequence[Mapping[str, Any]]) -> Times:
    """[ranks] trial → [rounds][steps] begin and end: trial → the fastest step in µs of each round."""
    found = {}
    for name in of_ranks[0]:
        spans = np.array([times[name] for times in of_ranks])  # [ranks, rounds, steps, begin and end]
        took_s = spans[..., 1].max(axis=0) - spans[..., 0].min(axis=0)
        found[name] = took_s.min(axis=1) * 1e6
    return found


def cluster_of(devices: int, link: Mapping[str, MeasuredFigure], op_rest_us: float) -> Cluster:
    """So many processes of one thread, joined by gloo's link."""
    memory_bytes = machine_memory_bytes() // devices
    contention = contention_of(link)
    value: dict[str, api.Json] = {
        "devices": [
            {"name": f"/device:CPU:{index}", "kind": "CPU", "memory_bytes": memory_bytes} for index in range(devices)
        ],
        "links": {
            "contention": str(contention),
            "bandwidth_bytes_per_us": link[BANDWIDTH].value,
            "latency_us": link[LATENCY].value,
            "rest_us": link[FURTHER].value if contention == Contention.SENDER else 0.0,
        },
        "op_rest_us": op_rest_us,
    }
    cluster = api.parse_cluster(json.dumps(value))
    return dataclasses.replace(cluster, calibration=Calibration(machine_words(), today(), MappingProxyType(dict(link))))
