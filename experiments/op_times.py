"""Op times on a calibrated machine: one efficiency of an op type beside one for arithmetic and one for memory.

`python -m experiments op_times` traces a training step of each of some graphs on one device of this machine, predicts
the op times of each family from those of the others in both ways, and writes docs/results/op_times.md. It takes ten
minutes; a quiet machine is needed.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from engine import VERSION
from engine.child.parent import no_pulse
from engine.clusters.cluster import Cluster
from engine.clusters.shares import Efficiency
from engine.formats.reading import prepare
from engine.measuring.calibrating.calibration import CALIBRATING_LIMITS, calibrate_processors, today
from engine.measuring.calibrating.checking import CHECKS, traced_on_one_device
from engine.measuring.calibrating.training_steps import OpsOfType, StepOnOneDevice, with_op_times
from engine.measuring.this_machine import machine_words
from engine.prepared import PreparedGraph
from engine.zoo import build_graph
from experiments.fidelity import GRAPHS, MeasuredGraph
from experiments.folders import CACHE
from experiments.pages import ReportLine, table_of_figures, write_page

COMMAND = "python -m experiments op_times"
NAME = "op_times"
WORK = CACHE / NAME
CHECKED = tuple(MeasuredGraph(graph.name, graph.settings) for graph in CHECKS)
TRACED = (
    *CHECKED,
    MeasuredGraph("cifar10", {"batch": 16, "cells": 1}),
    MeasuredGraph("cifar10", {"batch": 8, "cells": 1, "filters": 44}),
    *GRAPHS,
)
PASSES = 2
"""over all graphs; the fastest traced step of each counts, since other work on the machine only adds"""
LEAST_US = 20.0
"""of an op whose error counts: shorter ones scatter"""


class Error(NamedTuple):
    """How far predicted op times of a step are from the measured ones."""

    ratio: float
    """measured over predicted, all ops together"""
    scatter: float
    """mean of the absolute logarithm of the ratio of single ops over that, weighted by their measured time"""


def one_efficiency(ops: OpsOfType) -> Efficiency:
    """The same share of peak and bandwidth, with which all ops together take what was measured."""
    return Efficiency.of_both(1 / ops.slowdown(Efficiency.of_both(1.0)))


FITS: Mapping[str, Callable[[OpsOfType], Efficiency]] = {
    "one efficiency": one_efficiency,
    "two efficiencies": OpsOfType.efficiency,
}


def run(folder: Path, report: ReportLine) -> str:
    """Calibrate by trials, trace the graphs, write `folder`/op_times.md, and return the page."""
    report("calibrating this machine by trials")
    cluster = calibrate_processors(checks=())
    prepared = [(graph, prepared_graph(graph, report)) for graph in TRACED]
    passes = [
        {words_of(graph): traced(graph, each, cluster, report) for graph, each in prepared} for _ in range(PASSES)
    ]
    steps = {name: min((each[name] for each in passes), key=StepOnOneDevice.ops_us) for name in passes[0]}
    return write_page(folder, NAME, page(steps, cluster))


def words_of(graph: MeasuredGraph) -> str:
    """The graph's name with the settings that are numbers; a description of a cell is too long for a table."""
    numbers = [f"{name} {value}" for name, value in graph.settings.items() if not isinstance(value, str)]
    others = ["another cell"] * (len(numbers) < len(graph.settings))
    return ", ".join([graph.name, *numbers, *others])


def prepared_graph(graph: MeasuredGraph, report: ReportLine) -> PreparedGraph:
    """The graph, read from its file, which is built first where it is missing."""
    path = _path(graph)
    if not path.exists():
        report(f"building {graph.words}")
        path.parent.mkdir(parents=True, exist_ok=True)
        build_graph(graph.name, path, lambda *_: None, graph.settings, pulse=no_pulse)
    return prepare(path, path.suffix, lambda *_: None, CALIBRATING_LIMITS)


def traced(graph: MeasuredGraph, prepared: PreparedGraph, cluster: Cluster, report: ReportLine) -> StepOnOneDevice:
    """A traced step of the graph."""
    report(f"tracing {words_of(graph)}")
    return traced_on_one_device(_path(graph), prepared, cluster, CALIBRATING_LIMITS, lambda *_: None)


def _path(graph: MeasuredGraph) -> Path:
    return WORK / f"{graph.stem}.pb"


def error_of(step: StepOnOneDevice, cluster: Cluster) -> Error:
    """The error of the op times of `step` as `cluster` predicts them."""
    ran_us = step.measured_us()
    predicted_us = np.nan_to_num(step.prepared.costs.time_on_devices(cluster.devices[:1])[0])
    ratio = ran_us.sum() / predicted_us.sum()
    long = (ran_us >= LEAST_US) & (predicted_us > 0)
    apart = np.abs(np.log(ran_us[long] / predicted_us[long] / ratio))
    return Error(float(ratio), float(np.average(apart, weights=ran_us[long])))


def errors(
    steps: Mapping[str, StepOnOneDevice], cluster: Cluster, seen: Callable[[str, str], bool]
) -> dict[str, list[Error]]:
    """Graph → its errors with each of `FITS`; `seen` says of (graph, other graph) whether it learns from the other."""
    found: dict[str, list[Error]] = {}
    for name, step in steps.items():
        others = [each for other, each in steps.items() if seen(name, other)]
        found[name] = [error_of(step, with_op_times(cluster, others, fit)) for fit in FITS.values()]
    return found


def page(steps: Mapping[str, StepOnOneDevice], cluster: Cluster) -> str:
    """Both tables."""
    checked = {words_of(graph) for graph in CHECKED}
    families = errors(steps, cluster, lambda graph, other: _family(graph) != _family(other))
    of_checks = {
        name: found
        for name, found in errors(steps, cluster, lambda _, other: other in checked).items()
        if name not in checked
    }
    return f"""# Op times: one efficiency of an op type, or two

`{COMMAND}`; Placeto Explorer {VERSION}; {machine_words()}, {today()}. A
traced training step of each graph on one device, a process of one thread: the fastest of {PASSES}. Op times are
predicted from the steps of other graphs: each op type has the share of the peak and of the memory's bandwidth that it
reached there, one share for both or one for each. Ratios are measured over predicted times, all ops together; the
scatter is by how much single ops of at least {LEAST_US:g} µs are off beside that, in the mean, weighted by their time.

## From all graphs of other families

{_table(families)}

## From the graphs of a calibration

{_table(of_checks)}
"""


def _family(words: str) -> str:
    return words.partition(",")[0]


def _table(found: Mapping[str, Sequence[Error]]) -> str:
    head = ("graph", *(f"{what}, {fit}" for what in ("ratio", "scatter") for fit in FITS))
    rows = [
        [name, *(f"{each.ratio:.2f}" for each in errors), *(f"{each.scatter:.1%}" for each in errors)]
        for name, errors in found.items()
    ]
    off = np.array([[[abs(np.log(each.ratio)), each.scatter] for each in errors] for errors in found.values()])
    means = off.mean(axis=0).T.ravel()  # the ratios of both fits, then the scatters
    rows.append(["off by, in the mean", *(f"{each:.1%}" for each in means)])
    return "\n".join(table_of_figures(head, rows))
