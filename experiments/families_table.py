"""The families in figures: size, step time, the gain of placing, and the time to build them.

`python -m experiments families` writes docs/families.md; every figure in it comes from here.
"""

import os
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from engine import VERSION, api
from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.events import Json
from engine.zoo.enas_settings import Cifar10Settings, PtbSettings
from engine.zoo.families import draws
from engine.zoo.families.catalogue import FAMILIES
from engine.zoo.families.family import member_order
from engine.zoo.families.making import prepared_bytes
from engine.zoo.families.split import HELD_OUT, SPLIT_PERIOD
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.policies.held_out import DRAWN_ANEW, SEALED_DIGEST, SEALED_FAMILIES, set_named
from experiments.zoo_graphs import single_device_report

COMMAND = "python -m experiments families"
KIND = "K80"
CLUSTERS = ("2xK80", "4xK80")
SEARCH = "local_search"
EVALUATIONS = 1000
"""of the search, on each graph and cluster"""
CHILD_LIMITS = Limits(memory_bytes=12 * 1024**3, seconds=600.0)


@dataclass(frozen=True, slots=True)
class GraphFigures:
    """The figures of one graph."""

    ops: int
    edges: int
    groups: int
    group_edges: int
    step_time_us: float
    """of a step on one `KIND`"""
    peak_bytes: int
    """on that device"""
    found_share: tuple[float, ...]
    """[CLUSTERS] step time found by the search, relative to one device's"""


@dataclass(frozen=True, slots=True)
class FamilyFigures:
    """The figures of a family."""

    name: str
    train: int
    test: int
    seconds: float
    """wall time to build and prepare it"""
    cpu_seconds: float
    """of all its children together"""
    load: float
    """the machine's load then: processes that wanted a core, mean of the last minute"""
    graphs: tuple[GraphFigures, ...]
    stages: dict[str, float]
    """CPU seconds of each stage of preparing its first member, in a child of its own"""


def run(folder: Path, report: ReportLine, count: int = api.FAMILY_COUNT) -> str:
    """Build and prepare every family anew but the variants, write `folder`/families.md, and return it."""
    own = [name for name, row in FAMILIES.items() if not row.variant_of]
    return write_page(folder, "families", _page([_figures(name, report, count) for name in own]))


def time_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """CPU seconds of each stage of preparing the member that `order` names."""
    begun: list[tuple[str, float]] = []
    prepared_bytes(order, folder, lambda stage: begun.append((stage, time.process_time())))
    ends = [moment for _, moment in begun[1:]] + [time.process_time()]
    return {}, {stage: end - moment for (stage, moment), end in zip(begun, ends, strict=True)}


def _figures(name: str, report: ReportLine, count: int) -> FamilyFigures:
    with tempfile.TemporaryDirectory() as cache:
        began, cpu_began = time.monotonic(), _cpu_seconds_of_children()
        family = api.prepared_family(name, Path(cache), lambda *_: None, count=count)
        seconds, cpu_seconds = time.monotonic() - began, _cpu_seconds_of_children() - cpu_began
    load = os.getloadavg()[0]
    report(f"{name}: prepared in {seconds:.0f} s")
    order = member_order(FAMILIES[name], api.family_members(name)[0], destination=Path("nowhere"))
    _, stages = run_in_child(f"{__name__}:time_in_child", order, CHILD_LIMITS, task="preparing a graph")
    graphs = []
    for prepared in (*family.train, *family.test):
        graphs.append(_graph_figures(prepared))
        report(f"{prepared.graph.name}: {', '.join(f'{share:.2f}' for share in graphs[-1].found_share)}")
    return FamilyFigures(
        name=name,
        train=len(family.train),
        test=len(family.test),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        load=load,
        graphs=tuple(graphs),
        stages=cast(dict[str, float], stages),
    )


def _cpu_seconds_of_children() -> float:
    """CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _graph_figures(prepared: api.PreparedGraph) -> GraphFigures:
    report = single_device_report(prepared, KIND)
    step_time_us = cast(float, report["step_time_us"])
    return GraphFigures(
        ops=prepared.graph.op_count,
        edges=prepared.graph.edge_count,
        groups=prepared.grouping.group_count,
        group_edges=len(prepared.grouping.edge_source),
        step_time_us=step_time_us,
        peak_bytes=cast(list[int], report["peak_bytes"])[0],
        found_share=tuple(_found_us(prepared, each) / step_time_us for each in CLUSTERS),
    )


def _found_us(prepared: api.PreparedGraph, cluster: str) -> float:
    """The step time that the search finds."""
    request = api.RunRequest(api.parse_cluster(cluster), SEARCH, api.Budget(EVALUATIONS, None), 0, {})
    return cast(float, api.place(prepared, request, lambda _: None, lambda: False)["step_time_us"])


def _page(figures: Sequence[FamilyFigures]) -> str:
    head = HEAD.format(command=COMMAND, version=VERSION, **_drawn())
    sizes = FIGURES.format(evaluations=EVALUATIONS, search=SEARCH, kind=KIND)
    return "\n".join([head, sizes, *_size_table(figures), "", TIMES, *_time_table(figures), ""])


def _drawn() -> dict[str, object]:
    """The ranges of the random choices, for the text."""
    return {
        "nmt_steps": f"{draws.NMT_STEPS.start} to {draws.NMT_STEPS.stop - 1}",
        "nmt_batches": _listed(draws.NMT_BATCHES),
        "nmt_most": len(draws.NMT_SETTINGS),
        "ptb_nodes": draws.PTB_NODES,
        "ptb_steps": draws.PTB_STEPS,
        "ptb": PtbSettings(),
        "vocabulary": f"{PtbSettings().vocabulary:,}",
        "blocks": draws.CIFAR10_BLOCKS,
        "cells": draws.CIFAR10_CELLS,
        "filters": _listed(draws.CIFAR10_FILTERS),
        "cifar10": Cifar10Settings(),
        "period": SPLIT_PERIOD,
        "held_out": _listed(sorted(HELD_OUT), "and"),
        "families": "|".join(FAMILIES),
        "held_out_steps": _listed(draws.HELD_OUT_STEPS, "and"),
        "anew": " and ".join(DRAWN_ANEW),
        "sets": " and ".join(f"`{set_named(family, 1)}`" for family in DRAWN_ANEW),
        "sealed": _listed(SEALED_FAMILIES, "and"),
        "digest": SEALED_DIGEST,
    }


def _listed(numbers: Sequence[object], last: str = "or") -> str:
    """`1, 2 or 3`"""
    *rest, end = map(str, numbers)
    return f"{', '.join(rest)} {last} {end}"


def _size_table(figures: Sequence[FamilyFigures]) -> list[str]:
    head = ["family", "train, test", "ops", "edges", "groups", "edges of groups", "step, ms", "peak, GB", *CLUSTERS]
    rows = [
        [
            each.name,
            f"{each.train}, {each.test}",
            _range([graph.ops for graph in each.graphs]),
            _range([graph.edges for graph in each.graphs]),
            _range([graph.groups for graph in each.graphs]),
            _range([graph.group_edges for graph in each.graphs]),
            _range([graph.step_time_us / 1e3 for graph in each.graphs]),
            _range([graph.peak_bytes / 1e9 for graph in each.graphs], ".1f"),
            *(_mean_and_range([graph.found_share[index] for graph in each.graphs]) for index in range(len(CLUSTERS))),
        ]
        for each in figures
    ]
    return table_of_figures(head, rows)


def _time_table(figures: Sequence[FamilyFigures]) -> list[str]:
    stages = list(figures[0].stages)
    head = ["family", "all, wall", "load", "all, CPU", *stages]
    rows = [
        [
            each.name,
            f"{each.seconds:.0f}",
            f"{each.load:.1f}",
            f"{each.cpu_seconds:.0f}",
            *(f"{each.stages[stage]:.2f}" for stage in stages),
        ]
        for each in figures
    ]
    return table_of_figures(head, rows)


def _range(values: Sequence[float], form: str = ",.0f") -> str:
    least, most = f"{min(values):{form}}", f"{max(values):{form}}"
    return least if least == most else f"{least}–{most}"


def _mean_and_range(shares: Sequence[float]) -> str:
    return f"{np.mean(shares):.2f} ({_range(shares, '.2f')})"


HEAD = """# Families

For those who train policies: graphs that are alike, how they differ, how they are split.

    {command}      # writes this page; Placeto Explorer {version}

Graphs that are alike, to train a policy on some and to test it on others:

    python -m engine build {families} --out FOLDER [--count 32] [--seed 0]

writes `nmt-00.pb`, `nmt-01.pb`, ... and `family.json`, which lists each graph's random choices and whether it is for
training or for testing. Each graph is a full training step (forward, gradients, update) of a model of the
[zoo](zoo.md), and every cost can be estimated. Ops form 128 groups, those of `nmt` 160, as in Placeto's experiments.
`python -m engine build ptb --out graph.pb --set NAME=VALUE ...` builds a single graph from its settings.

## What is drawn

- **nmt**: unrolled length {nmt_steps} and batch {nmt_batches}, each pair at most once,
  so that there are at most {nmt_most} graphs. The rest is the zoo's NMT with 2 layers.
- **nmt_by_length**: the same pairs, split by length: graphs of {held_out_steps} words are for testing, no graph of
  training has such a length. In `nmt` itself every test graph has a length that some training graph has, so it tests
  other batch sizes rather than other graphs.
- **nmt_by_form**: training graphs as in `nmt`; each test graph has the pair that `nmt` has there, and another form:
  2, 3 or 4 layers, 512 or 1,024 units, additive attention or dot products, but not 2 layers of 1,024 units with
  additive attention, the form of all training graphs.
- **ptb**: a recurrent cell of {ptb_nodes} nodes; each takes any earlier node and has identity, sigmoid, tanh or ReLU
  before its highway gate. All graphs have {ptb_steps} steps, ENAS's batch {ptb.batch}, {ptb.units} units and
  {vocabulary} words.
- **cifar10**: a normal and a reduction cell of {blocks} blocks each; a block takes any two earlier states and
  applies to each identity, a separable 3x3 or 5x5 convolution, a 3x3 average or a 3x3 maximum; and the channels of the
  first stage, {filters}. All graphs have three stages of {cells} normal cells with a reduction
  cell between them, as in ENAS's search, batch {cifar10.batch}, images of {cifar10.image_size}.

The search spaces are ENAS's (Pham et al. 2018, arXiv 1802.03268, section 2 and appendix A); all choices are uniform.
The heads of `engine/zoo/ptb.py` and `engine/zoo/cifar10.py` list the deviations of our models. `build ptb --out
graph.pb` and `build cifar10 --out graph.pb` give the cells that ENAS published. Placeto's experiments have such
families too, of 32 graphs each; the ranges and sizes here are ours.

**A graph depends only on the family, the seed and its index**: another `--count` takes more or fewer of the same
graphs. **The split is fixed**: of every {period} graphs, those with index {held_out} are for testing, 10 of 32.

**Seeds of test graphs.** While choices of design were made, test graphs of seed 0 were looked at. So policies trained
on graphs of seed 0 are also tested on the test graphs of seed 1 of {anew}, which nobody had looked at; tables
call these sets {sets}. `nmt` has no such set: another seed shuffles the same {nmt_most} graphs, so its test
graphs would be graphs of training. Seed 2 of {sealed} is sealed: the experiments refuse it until
the work on policies ends, and then take it once, with `unseal=true`. Until then only the SHA-256 of its draw is known,
which a test compares:

    {digest}

**The cache.** Commands that train on a family build, cost and group its graphs once and keep them in `.cache/families`
(`--cache FOLDER`). A file's name has the graph, the seed and a digest of all that it depends on (settings, groups,
version of the engine), and the file has a digest of its content. A damaged or wrong file is built again, and a line
reports this. You can delete the folder at any time.
"""

FIGURES = """## Size

Least and most over the graphs of seed 0. Step and peak are simulated, all ops on one {kind}; 1 GB is 10⁹ bytes. The
last columns show the possible gain: the step time that {evaluations:,} evaluations of `{search}` find on the
cluster, relative to one device, mean and range.
"""

TIMES = """## Time to build

Seconds. First for all graphs of a family: two children at once build, cost and group them and fill an empty cache on a
machine of two cores; wall time, the machine's load meanwhile (two are the children's), and CPU time. Then the CPU time
of each stage of the family's first graph, alone in a child.
"""
