"""Whole training steps in a calibration: they correct the times of ops, and check simulated step times.

The graphs are training steps of the zoo, small enough that a step takes a second at most on one thread: networks of
convolution cells, and unrolled recurrent ones, two of each. One has numbers of channels that are no multiples of 4, for
which kernels of vectors are slow. The error band is that of steps which the figures have not seen: each graph is
simulated with the figures that the others alone give.
"""

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits, Pulse, ReportProgress, no_pulse
from engine.clusters.calibration import ERROR_BAND, MeasuredFigure
from engine.clusters.cluster import Cluster
from engine.events import Json
from engine.formats.reading import prepare
from engine.graphs.reading_options import ReadingOptions
from engine.measuring.calibrating.fitting import require_low
from engine.measuring.calibrating.training_steps import StepOnOneDevice, StepsOfGraph, corrected
from engine.measuring.many import GraphToMeasure
from engine.measuring.measurement import run_placed
from engine.measuring.step_record import measured_record
from engine.number_words import counted
from engine.prepared import PreparedGraph
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
    CheckGraph("cifar10", {"batch": 32, "cells": 1, "filters": 22}),
    CheckGraph(
        "cifar10",
        {
            "batch": 32,
            "cells": 1,
            "filters": 24,
            "normal": "0:separable_3x3+1:identity 2:max_pool+0:separable_3x3 1:separable_5x5+2:identity",
            "reduction": "0:max_pool+1:separable_3x3 2:average_pool+0:identity",
        },
    ),
    CheckGraph("ptb", {"batch": 32, "steps": 8, "units": 512, "vocabulary": 2000}),
    CheckGraph(
        "ptb",
        {"batch": 128, "steps": 6, "units": 320, "vocabulary": 4000, "cell": "sigmoid 0:relu 1:tanh 1:sigmoid 3:tanh"},
    ),
)


def checked(
    cluster: Cluster,
    limits: Limits,
    report_progress: ReportProgress,
    pulse: Pulse = no_pulse,
    graphs: Sequence[CheckGraph] = CHECKS,
    *,
    most_noise: float,
) -> Cluster:
    """The calibrated `cluster` with the op times that `graphs` show, and with an error band. Raises as `calibrate`.

    So it does too where two rounds of the placements differ by more than `most_noise`, a share.
    """
    measured = []
    with tempfile.TemporaryDirectory(prefix="placeto-") as folder:
        for index, graph in enumerate(graphs):
            path = Path(folder) / f"{index}.pb"
            build_graph(graph.name, path, report_progress, graph.settings, pulse=pulse)
            measured.append(_measured(path, cluster, limits, report_progress, pulse, most_noise))
    return with_steps(cluster, measured, [graph.name for graph in graphs])


def with_steps(cluster: Cluster, measured: Sequence[StepsOfGraph], names: Sequence[str]) -> Cluster:
    """The calibrated `cluster`, corrected by all graphs that were measured, with the error band of unseen ones."""
    ratios = [
        graph.ratios(corrected(cluster, [*measured[:index], *measured[index + 1 :]]))
        for index, graph in enumerate(measured)
    ]
    better = corrected(cluster, measured)
    assert better.calibration is not None
    shown = {
        ERROR_BAND: band_of(np.concatenate(ratios), len(measured), list(dict.fromkeys(names))),
        **_slowdowns(cluster, better, measured),
    }
    figures = MappingProxyType({**better.calibration.figures, **shown})
    return dataclasses.replace(better, calibration=dataclasses.replace(better.calibration, figures=figures))


def _slowdowns(cluster: Cluster, together: Cluster, measured: Sequence[StepsOfGraph]) -> dict[str, MeasuredFigure]:
    """How much longer ops and transfers take in all steps, by which `together` is corrected, and in each graph's."""
    alone = [corrected(cluster, [graph]) for graph in measured]
    of_ops = [_slowdown_of_ops(cluster, each) for each in (together, *alone)]
    speed = cluster.bandwidth_bytes_per_us.max()
    of_links = [float(speed / each.bandwidth_bytes_per_us.max()) for each in (together, *alone)]
    return {
        "op_slowdown_in_steps": MeasuredFigure(
            of_ops[0], min(of_ops), max(of_ops), "times as long as trials say that most ops take in training steps"
        ),
        "link_slowdown_in_steps": MeasuredFigure(
            of_links[0], min(of_links), max(of_links), "times as long as trials say that transfers take in them"
        ),
    }


def _slowdown_of_ops(cluster: Cluster, corrected_cluster: Cluster) -> float:
    before, after = cluster.devices[0].own, corrected_cluster.devices[0].own
    assert before is not None and after is not None
    return before.efficiency / after.efficiency


def band_of(ratios: NDArray[np.float64], graphs: int, names: Sequence[str]) -> MeasuredFigure:
    """The median of the measured over the simulated step times of placements, and the range of four in five of them."""
    low, middle, high = np.percentile(ratios, (OUTSIDE, 50, 100 - OUTSIDE)).tolist()
    how = (
        f"measured over simulated step times of {len(ratios)} placements of {counted(graphs, 'graph')} "
        f"({' and '.join(names)}), each left out of the figures: the median, and the range of {100 - 2 * OUTSIDE} % of "
        f"them"
    )
    return MeasuredFigure(middle, low, high, how)


def _measured(
    path: Path, cluster: Cluster, limits: Limits, report_progress: ReportProgress, pulse: Pulse, most_noise: float
) -> StepsOfGraph:
    """Run the graph in `path`: traced on one device, under the placements of the check, and traced again.

    The faster one of the two traced steps counts: other work on the machine only adds.
    """
    options = ReadingOptions()
    prepared = prepare(path, path.suffix, report_progress, limits, options=options, pulse=pulse)
    on_one_device = traced_on_one_device(path, prepared, cluster, limits, report_progress, pulse)
    placements = check_placements(prepared.grouping.group_count, cluster.device_count)
    to_measure = GraphToMeasure(path, path.suffix, options, limits, cluster, STEPS)
    of_ops = placements[:, prepared.grouping.group_of_op]
    measured = to_measure.measured(prepared.graph.op_names, of_ops, ROUNDS, report_progress, pulse)
    require_low(measured.noise, most_noise)
    again = traced_on_one_device(path, prepared, cluster, limits, report_progress, pulse)
    on_one_device = min(on_one_device, again, key=StepOnOneDevice.ops_us)
    step_time_us = measured.step_time_us
    return StepsOfGraph(
        dataclasses.replace(on_one_device, step_time_us=float(step_time_us[0])), placements, step_time_us
    )


def traced_on_one_device(
    path: Path,
    prepared: PreparedGraph,
    cluster: Cluster,
    limits: Limits,
    report_progress: ReportProgress,
    pulse: Pulse = no_pulse,
) -> StepOnOneDevice:
    """A traced step of the graph in `path` on the first device of `cluster`, with the median untraced step time."""
    op_names, names = prepared.graph.op_names, [device.name for device in cluster.devices]
    run: dict[str, Json] = {"devices": [*names], "steps": STEPS, "threads": 1, "processes": True}
    placement: Json = dict.fromkeys(op_names, names[0])
    arrays, texts = run_placed(path, path.suffix, placement, run, ReadingOptions(), limits, report_progress, pulse)
    traced = measured_record(arrays, cast(list[str], texts["names"]), op_names)
    return StepOnOneDevice(prepared, traced, float(np.median(arrays["wall_us"].astype(np.float64))))


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
