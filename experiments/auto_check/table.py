"""Whether auto is behind another method with the same evaluations, or in the same seconds, on graphs of many kinds.

`python -m experiments auto_check` writes docs/results/auto_check.{md,json}; every figure in it comes from here.
Measurements stay in a folder beside the system's temporary files, so a second call continues; delete a method's files
there after changing it. A figure is the mean over the seeds, with its standard error: a search scatters by some percent
from seed to seed, and a smaller difference means nothing. Methods that take minutes have one seed and a part of the
graphs; the paper's Table 1 has three of them on the whole zoo with three seeds.
"""

import os
import platform
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import groupby
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from engine import VERSION
from engine.placers.registry import PLACERS
from engine.problem import MOST_EVALUATIONS, Budget
from experiments.auto_check.cases import Case, cases
from experiments.auto_check.measuring import Reached, measure
from experiments.pages import ReportLine, table_line, write_page, write_rows

EVALUATIONS = 2000
SEEDS = {"auto": 8, "local_search": 8, "random": 3, "brkga": 3, "post": 3, "regal": 3, "scotch": 1}
"""seeds of each method; one if it makes no random choices"""
SEEDS_TO_BE_SURE = 24
"""of auto and of a method that is ahead of it by more than the tolerance, on that graph: fewer seeds mislead"""
SLOW = ("placeto", "spotlight", "rnn", "hierarchical")
"""methods that take minutes: one seed, on a part of the graphs; the first of these on more graphs"""
LEFT_OUT = frozenset({"cpu_only", "exhaustive"})
"""the clusters have no CPU; the graphs have too many placements to try all"""
SECONDS = 2.0
SEEDS_IN_SECONDS = {"auto": 2, "local_search": 2, "brkga": 1}
TOLERANCE = 0.01
SURE = 2.0
"""standard errors by which a difference must exceed the tolerance to count as more than scatter"""
WORK = Path(tempfile.gettempdir()) / "placeto-auto-check"


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One method's mean over the seeds on one case; None if a seed found nothing feasible."""

    kind: str
    name: str
    method: str
    seeds: int
    step_time_us: float | None
    error: float
    """relative standard error of the mean; 0 for one seed"""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Auto's step time divided by another method's on one case: above 1 auto is behind."""

    row: MethodRow
    """the other method's"""
    value: float
    error: float
    """standard error"""

    @property
    def behind(self) -> bool:
        """Whether auto is behind by more than the tolerance."""
        return self.value > 1 + TOLERANCE

    @property
    def surely_behind(self) -> bool:
        """Whether auto is behind by more than scatter."""
        return self.value - SURE * self.error > 1 + TOLERANCE


def run(folder: Path, report: ReportLine) -> str:
    """Compare on all cases, write `folder`/auto_check.{md,json}, and return the tables."""
    every = list(cases(report))
    seeds = {case.name: seeds_for(case) for case in every}
    rows = _measured(every, seeds, Budget(EVALUATIONS), _processes(), report)
    if more_seeds(seeds, rows) != seeds:
        rows = _measured(every, more_seeds(seeds, rows), Budget(EVALUATIONS), _processes(), report)
    some = [case for case in every if case.with_all or case.kind in ("shared", "zoo")]
    budget = Budget(MOST_EVALUATIONS, SECONDS)
    in_seconds = _measured(some, {case.name: SEEDS_IN_SECONDS for case in some}, budget, _processes(), report)
    return written(folder, rows, in_seconds)


def _processes() -> int:
    return os.cpu_count() or 1


def _measured(
    every: list[Case], seeds: dict[str, dict[str, int]], budget: Budget, processes: int, report: ReportLine
) -> list[MethodRow]:
    found = measure(every, seeds, budget, WORK, processes, report)
    return [row for case in every for row in _rows(case, found[case.name])]


def seeds_for(case: Case) -> dict[str, int]:
    """Seeds of every method that is compared on `case`, auto first."""
    slow = SLOW if case.with_all else SLOW[:1] if case.with_placeto else ()
    methods = [name for name in PLACERS if name not in LEFT_OUT and (name in slow or name not in SLOW)]
    return {name: 1 if PLACERS[name].deterministic else SEEDS.get(name, 1) for name in methods}


def more_seeds(seeds: dict[str, dict[str, int]], rows: Iterable[MethodRow]) -> dict[str, dict[str, int]]:
    """`seeds` by case and method, with more for auto and each method ahead of it that depends on the seed."""
    changed = {name: dict(counts) for name, counts in seeds.items()}
    for ratio in ratios(rows):
        if ratio.behind and ratio.row.seeds > 1:
            for method in ("auto", ratio.row.method):
                changed[ratio.row.name][method] = SEEDS_TO_BE_SURE
    return changed


def _rows(case: Case, found: Iterable[Reached]) -> list[MethodRow]:
    """A row for each method; `found` lists the seeds of a method together."""
    return [_row(case, method, list(seeds)) for method, seeds in groupby(found, key=lambda one: one.method)]


def _row(case: Case, method: str, found: list[Reached]) -> MethodRow:
    known = [one.step_time_us for one in found if one.step_time_us is not None]
    if len(known) < len(found):
        return MethodRow(case.kind, case.name, method, len(found), None, 0.0)
    mean_us = fmean(known)
    error = stdev(known) / sqrt(len(known)) / mean_us if len(known) > 1 else 0.0
    return MethodRow(case.kind, case.name, method, len(found), mean_us, error)


def written(folder: Path, rows: list[MethodRow], in_seconds: list[MethodRow]) -> str:
    """Write the tables and their rows; return the tables."""
    equal, timed = ratios(rows), ratios(in_seconds)
    parts = [_head(rows), _by_method(equal), _behind(equal), _head_in_seconds(in_seconds)]
    text = "\n\n".join([*parts, _by_method(timed), _behind(timed)]) + "\n"
    kept = {"evaluations": [asdict(row) for row in rows], "seconds": [asdict(row) for row in in_seconds]}
    write_rows(folder, "auto_check", kept, indent=0)
    return write_page(folder, "auto_check", text)


def ratios(rows: Iterable[MethodRow]) -> list[Ratio]:
    """Auto against each other method on each case with a feasible placement of that method."""
    rows = list(rows)
    autos = {row.name: row for row in rows if row.method == "auto"}
    found = []
    for row in rows:
        auto = autos[row.name]
        if row.method == "auto" or row.step_time_us is None:
            continue
        value = float("inf") if auto.step_time_us is None else auto.step_time_us / row.step_time_us
        found.append(Ratio(row, value, sqrt(auto.error**2 + row.error**2)))
    return found


def _head(rows: list[MethodRow]) -> str:
    graphs = len({row.name for row in rows})
    return (
        f"{graphs} graphs, {EVALUATIONS} evaluations; Placeto Explorer {VERSION}, {platform.machine()}. Auto's step "
        "time divided by the method's, each the mean over its seeds, ± the standard error: below 1 auto is ahead. Auto "
        f"is surely behind if the difference exceeds {TOLERANCE:.0%} by {SURE:g} standard errors. If it is behind with "
        f"few seeds, it and the other method have {SEEDS_TO_BE_SURE}. A method skips graphs without a feasible "
        "placement or that it refuses, and methods that take minutes skip most graphs; their single seed shows no "
        "scatter."
    )


def _head_in_seconds(rows: list[MethodRow]) -> str:
    graphs = len({row.name for row in rows})
    return (
        f"In the same seconds: {graphs} graphs, {SECONDS:g} s of one processor's own time; only methods that use all "
        "the time they have. Auto leaves Scotch out in so short a time."
    )


def _by_method(found: list[Ratio]) -> str:
    lines = [
        f"| method | seeds | graphs | mean ratio | worst ratio | behind by more than {TOLERANCE:.0%} | surely |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in dict.fromkeys(ratio.row.method for ratio in found):
        of_method = [ratio for ratio in found if ratio.row.method == method]
        worst = max(of_method, key=lambda ratio: ratio.value)
        counts = sorted({ratio.row.seeds for ratio in of_method})
        seeds = " or ".join(map(str, counts)) + (", deterministic" if PLACERS[method].deterministic else "")
        mean = fmean(ratio.value for ratio in of_method)
        behind, surely = sum(ratio.behind for ratio in of_method), sum(ratio.surely_behind for ratio in of_method)
        cells = [method, seeds, str(len(of_method)), f"{mean:.3f}", _value(worst), str(behind), str(surely)]
        lines.append(table_line(cells))
    return "\n".join(lines)


def _behind(found: list[Ratio]) -> str:
    """The list of graphs on which auto is behind."""
    lines = [f"- {ratio.row.name}: {_value(ratio)} of {ratio.row.method}" for ratio in found if ratio.behind]
    return "\n".join([f"Graphs on which auto is behind by more than {TOLERANCE:.0%}:", "", *(lines or ["none"])])


def _value(ratio: Ratio) -> str:
    return f"{ratio.value:.3f} ± {ratio.error:.3f}"
