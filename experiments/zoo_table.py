"""The zoo in figures: ops, arithmetic, parameters, memory and step times on one device, beside the paper's.

`python -m experiments zoo` writes docs/zoo.md; every figure in it comes from here.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from engine import VERSION, api
from engine.child.parent import Limits, run_in_child
from engine.clusters.device_kinds import COSTED_KINDS
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.zoo_graphs import single_device_report

COMMAND = "python -m experiments zoo"
PAPER_KIND = "K80"
PAPER_NASNET_OPS = 12_942
COUNT_LIMITS = Limits(memory_bytes=8 * 1024**3, seconds=300.0)


@dataclass(frozen=True, slots=True)
class ZooRow:
    """A graph of the table."""

    name: str
    settings: Mapping[str, api.Json] = field(default_factory=dict)
    paper_ops: str = ""
    paper_seconds: str = ""
    """of a step on one K80"""

    @property
    def command(self) -> str:
        """The arguments of `python -m engine build`."""
        inference = ["--inference"] if self.settings.get("inference") else []
        rest = [f"--set {name}={value}" for name, value in self.settings.items() if name != "inference"]
        return " ".join([self.name, *inference, *rest])


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a graph."""

    row: ZooRow
    ops: int
    operations: int
    parameters: int
    persistent_bytes: int
    peak_bytes: int
    step_time_us: dict[str, float]
    """device kind → step time on one such device"""


INFERENCE: Mapping[str, api.Json] = {"inference": True}
LARGE: Mapping[str, api.Json] = {"cells": 6, "filters": 168, "stem_filters": 96, "image_size": 331}
ROWS = (
    ZooRow("inception_v3", paper_ops="10,061 (published code's file)", paper_seconds="1.56"),
    ZooRow("nasnet", paper_ops=f"{PAPER_NASNET_OPS:,}", paper_seconds="1.28"),
    ZooRow("nmt", paper_seconds="out of memory"),
    ZooRow("nmt_4_layers", paper_seconds="out of memory"),
    ZooRow("ptb"),
    ZooRow("cifar10"),
    ZooRow("tiny_cnn"),
    ZooRow("inception_v3", INFERENCE),
    ZooRow("nasnet", INFERENCE),
    ZooRow("nmt", INFERENCE),
    ZooRow("nmt_4_layers", INFERENCE),
    ZooRow("ptb", INFERENCE),
    ZooRow("cifar10", INFERENCE),
    ZooRow("nasnet", LARGE),
)


def run(folder: Path, report: ReportLine) -> str:
    """Build and cost every graph, write `folder`/zoo.md, and return it."""
    figures = []
    for row in ROWS:
        report(row.command)
        figures.append(_figures(row))
    return write_page(folder, "zoo", _page(figures))


def _figures(row: ZooRow) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"{row.name}.pb"
        ops = api.build(row.name, path, lambda *_: None, row.settings)
        order: dict[str, api.Json] = {"path": str(path)}
        _, counted = run_in_child("experiments.zoo_arithmetic:count_in_child", order, COUNT_LIMITS, task="counting")
        prepared = api.prepare(path, path.suffix, lambda *_: None, api.Limits(), groups=None)
    reports = {kind: single_device_report(prepared, kind) for kind in COSTED_KINDS}
    return Figures(
        row=row,
        ops=ops,
        operations=cast(int, counted["operations"]),
        parameters=cast(int, counted["parameters"]),
        persistent_bytes=int(prepared.costs.persistent_bytes.sum()),
        peak_bytes=cast(list[int], reports[PAPER_KIND]["peak_bytes"])[0],
        step_time_us={kind: cast(float, report["step_time_us"]) for kind, report in reports.items()},
    )


def _page(figures: list[Figures]) -> str:
    head = HEAD.format(command=COMMAND, version=VERSION)
    return "\n".join([head, *_size_table(figures), "", TIMES, *_time_table(figures), "", _reading(figures)])


def _size_table(figures: list[Figures]) -> list[str]:
    head = ["`build`", "ops", "paper's ops", "GFLOP", "parameters", "held GB", "peak GB"]
    rows = [
        [
            f"`{each.row.command}`",
            f"{each.ops:,}",
            each.row.paper_ops,
            f"{each.operations / 1e9:,.{0 if each.operations > 1e10 else 3}f}",
            f"{each.parameters:,}",
            f"{each.persistent_bytes / 1e9:.3f}",
            f"{each.peak_bytes / 1e9:.3f}",
        ]
        for each in figures
    ]
    return table_of_figures(head, rows)


def _time_table(figures: list[Figures]) -> list[str]:
    kinds = list(figures[0].step_time_us)
    rows = [
        [f"`{each.row.command}`", *(f"{each.step_time_us[kind] / 1e6:.4f}" for kind in kinds), each.row.paper_seconds]
        for each in figures
    ]
    return table_of_figures(["`build`", *kinds, "paper, K80"], rows)


def _reading(figures: list[Figures]) -> str:
    """The text, with its figures."""
    found = {(each.row.name, bool(each.row.settings)): each for each in figures if each.row.settings != INFERENCE}
    nasnet, large = found["nasnet", False], found["nasnet", True]
    nmt, four = found["nmt", False], found["nmt_4_layers", False]
    return READING.format(
        nasnet_share=nasnet.ops / PAPER_NASNET_OPS - 1,
        large_ops=large.ops,
        large_times=large.operations / nasnet.operations,
        large_peak=large.peak_bytes / 1e9,
        nmt_peak=nmt.peak_bytes / 1e9,
        four_peak=four.peak_bytes / 1e9,
    )


HEAD = """# The zoo

For those who want a graph at once: those that the engine builds itself, with sizes and step times.

    {command}      # writes this page; Placeto Explorer {version}

Graphs that the engine builds itself:

    python -m engine build NAME [--inference] [--set NAME=VALUE ...] --out PATH

Each is one full training step (forward, gradients, update) or, with `--inference`, its forward pass. Every shape is
known, so every cost can be estimated. `engine/zoo/settings.py` and `engine/zoo/enas_settings.py` list the settings; the
head of each model's file there has its source and the meaning of its ops' names. The rows below change only the
settings that they show: Inception-V3 and NASNet have batch 64, NMT has batch 128 and 32 steps; `ptb` and `cifar10` are
the cells that ENAS published, with its sizes. `nmt`, `ptb` and `cifar10` also have [families](families.md).

## Size

GFLOP: convolutions and matrix products of one step, a multiply-add counted as two. Parameters: trained variables. Held:
variables and the optimizer's slots. Peak: memory of one device that runs the whole step, in the `full` memory model
(held bytes, and outputs until their last consumer has run). 1 GB is 10⁹ bytes; a K80 has 12.9 of them.
"""

TIMES = """## Step times on one device

Seconds, simulated from estimated costs with all ops on one device of each kind; the last column is the paper's
measurement on one K80.
"""

READING = """## How to read this

- **Ops.** The paper does not name the published form of NASNet that it used. The mobile form (4 @ 1056) is nearest
  to its count, {nasnet_share:+.0%}. The large form has {large_ops:,} ops, {large_times:.0f} times the arithmetic
  and a peak of {large_peak:.0f} GB: it cannot have run on one K80 at batch 64. Our graphs contain only the ops that one
  step runs, without the initializers, savers and summaries of a TensorFlow 1 file.
- **Time.** The estimate lets every op run near the roofline, which no real device does. It ranks graphs and devices and
  does not predict wall time. NASNet is furthest from the paper's, probably because its many depthwise convolutions and
  small ops use less of a real K80 than large products do. The simulator rests 5.7 µs after each op that takes time: a
  large part of a step with many ops on a fast device.
- **Memory.** The paper's NMT ran out of memory on one K80. Ours does not: its peak is {nmt_peak:.1f} GB with two layers
  and {four_peak:.1f} GB with four. Its sizes and batch are GNMT's; those of the paper's own graph are not known, and
  none here was chosen to make it fail. A real allocator also needs memory for fragments and for the workspace of its
  libraries.
- **Inference.** NMT translates greedily, so each step waits for the word before. Batch norm uses the averages of
  training; there is no dropout and no second classifier.
"""
