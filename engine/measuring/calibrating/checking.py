"""Checks a calibrated cluster: simulated beside measured step times of placements of graphs, for its error band.

The graphs are training steps of the zoo, small enough that a step takes a fraction of a second on one thread: a network
of convolution cells, and an unrolled recurrent one.
"""

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits, Pulse, ReportProgress, no_pulse
from engine.clusters.calibration import ERROR_BAND, MeasuredFigure
from engine.clusters.cluster import Cluster
from engine.events import Json
from engine.formats.reading import prepare
from engine.graphs.reading_options import ReadingOptions
from engine.measuring.many import GraphToMeasure
from engine.simulator import Simulator
from engine.zoo import build_graph

STEPS, ROUNDS = 5, 2
OUTSIDE = 10
"""per cent of the placements below the band, and above it"""
SHARES = (0.15, 0.3, 0.5, 0.5)
"""of the groups of a random placement on the second device"""
CUTS = (0.25, 0.5, 0.75)
"""where a placement in two blocks is cut, as a share of the groups in their order"""


@dataclass(frozen=True, slots=True)
class CheckGraph:
    """A graph of the zoo with its settings."""

    name: str
    settings: Mapping[str, Json] = field(default_factory=dict)


CHECKS = (
    CheckGraph("cifar10", {"batch": 16, "cells": 1}),
    CheckGraph("ptb", {"batch": 32, "steps": 8, "units": 512, "vocabulary": 2000}),
)


def checked(
    cluster: Cluster,
    limits: Limits,
    report_progress: ReportProgress,
    pulse: Pulse = no_pulse,
    graphs: Sequence[CheckGraph] = CHECKS,
) -> Cluster:
    """The calibrated `cluster` with an error band: see `band_of`. Raises as `calibrate`."""
    calibration = cluster.calibration
    assert calibration is not None
    ratios, names = [], []
    with tempfile.TemporaryDirectory(prefix="placeto-") as folder:
        for graph in graphs:
            path = Path(folder) / f"{graph.name}.pb"
            build_graph(graph.name, path, report_progress, graph.settings, pulse=pulse)
            ratios.append(_ratios(path, cluster, limits, report_progress, pulse))
            names.append(graph.name)
    figures = {**calibration.figures, ERROR_BAND: band_of(np.concatenate(ratios), names)}
    return dataclasses.replace(cluster, calibration=dataclasses.replace(calibration, figures=MappingProxyType(figures)))


def band_of(ratios: NDArray[np.float64], names: Sequence[str]) -> MeasuredFigure:
    """The median of the measured over the simulated step times of placements, and the range of four in five of them."""
    low, middle, high = np.percentile(ratios, (OUTSIDE, 50, 100 - OUTSIDE)).tolist()
    how = (
        f"measured over simulated step times of {len(ratios)} placements of {' and '.join(names)}: the median, and the "
        f"range of {100 - 2 * OUTSIDE} % of them"
    )
    return MeasuredFigure(middle, low, high, how)


def _ratios(
    path: Path, cluster: Cluster, limits: Limits, report_progress: ReportProgress, pulse: Pulse
) -> NDArray[np.float64]:
    """[placements] measured over simulated step times of the graph in `path`."""
    options = ReadingOptions()
    prepared = prepare(path, path.suffix, report_progress, limits, options=options, pulse=pulse)
    placements = check_placements(prepared.grouping.group_count, cluster.device_count)
    simulator = Simulator(prepared.graph, prepared.costs, cluster, prepared.grouping.group_of_op)
    simulated_us = simulator.evaluate(placements).step_time_us
    graph = GraphToMeasure(path, path.suffix, options, limits, cluster, STEPS)
    of_ops = placements[:, prepared.grouping.group_of_op]
    measured = graph.measured(prepared.graph.op_names, of_ops, ROUNDS, report_progress, pulse)
    ratios: NDArray[np.float64] = measured.step_time_us / simulated_us
    return ratios


def check_placements(groups: int, devices: int) -> NDArray[np.int32]:
    """[placements, groups] one device, two blocks in the groups' order, and random ones, on the first two devices."""
    second = min(1, devices - 1)
    place_in_order = np.arange(groups) / max(1, groups)
    rng = np.random.default_rng(0)
    rows = [
        np.zeros(groups, dtype=bool),
        *(place_in_order >= cut for cut in CUTS),
        *(rng.random(groups) < share for share in SHARES),
    ]
    return np.where(np.stack(rows), second, 0).astype(np.int32)
