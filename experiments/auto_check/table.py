"""Whether auto is behind any other method with the same evaluations, or in the same seconds, on graphs of many kinds.

`python -m experiments auto_check` writes docs/results/auto_check.{md,json}; every figure in it comes from here.
What has been measured is kept in a folder beside the system's temporary files, so that a second call goes on; whoever
changes a method deletes its files there. A figure is the mean over the seeds, with its standard error: a search
scatters by some percent from seed to seed, and a difference within that is none. Methods that take minutes have one
seed and a part of the graphs; the paper's Table 1 has three of them on the whole zoo with three seeds.
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
"""how many each method has; one if it draws nothing at random"""
SEEDS_TO_BE_SURE = 24
"""of auto and a method ahead of it by more than the tolerance, on that graph: with fewer seeds some are so by chance"""
SLOW = ("placeto", "spotlight", "rnn", "hierarchical")
"""methods that take minutes: one seed, on a part of the graphs; the first on more of them"""
LEFT_OUT = frozenset({"cpu_only", "exhaustive"})
"""the clusters have no CPU; all placements are too many"""
SECONDS = 2.0
SEEDS_IN_SECONDS = {"auto": 2, "local_search": 2, "brkga": 1}
TOLERANCE = 0.01
SURE = 2.0
"""standard errors that a difference must exceed the tolerance by, to be more than scatter"""
WORK = Path(tempfile.gettempdir()) / "placeto-auto-check"


@dataclass(frozen=True, slots=True)
class MethodRow:
    """What one method reached on one case, the mean over the seeds; None where a seed found nothing feasible."""

    kind: str
    name: str
    method: str
    seeds: int
    step_time_us: float | None
    error: float
    """standard error of the mean, as a share of it; 0 for one seed"""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Auto's step time over another method's on one case: above 1 auto is behind."""

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
        """Whether that is more than scatter."""
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
    """Every method of the registry that is compared on `case`, auto first → how many seeds it has."""
    slow = SLOW if case.with_all else SLOW[:1] if case.with_placeto else ()
    methods = [name for name in PLACERS if name not in LEFT_OUT and (name in slow or name not in SLOW)]
    return {name: 1 if PLACERS[name].deterministic else SEEDS.get(name, 1) for name in methods}


def more_seeds(seeds: dict[str, dict[str, int]], rows: Iterable[MethodRow]) -> dict[str, dict[str, int]]:
    """`seeds` by case and method; more of them for auto and who is ahead of it, where seeds make a difference."""
    changed = {name: dict(counts) for name, counts in seeds.items()}
    for ratio in ratios(rows):
        if ratio.behind and ratio.row.seeds > 1:
            for method in ("auto", ratio.row.method):
                changed[ratio.row.name][method] = SEEDS_TO_BE_SURE
    return changed


def _rows(case: Case, found: Iterable[Reached]) -> list[MethodRow]:
    """A row a method; `found` has the seeds of each together."""
    return [_row(case, method, list(seeds)) for method, seeds in groupby(found, key=lambda one: one.method)]


def _row(case: Case, method: str, found: list[Reached]) -> MethodRow:
    known = [one.step_time_us for one in found if one.step_time_us is not None]
    if len(known) < len(found):
        return MethodRow(case.kind, case.name, method, len(found), None, 0.0)
    mean_us = fmean(known)
    error = stdev(known) / sqrt(len(known)) / mean_us if len(known) > 1 else 0.0
    return MethodRow(case.kind, case.name, method, len(found), mean_us, error)


def written(folder: Path, rows: list[MethodRow], in_seconds: list[MethodRow]) -> str:
    """The tables, written with the rows that they come from."""
    equal, timed = ratios(rows), ratios(in_seconds)
    parts = [_head(rows), _by_method(equal), _behind(equal), _head_in_seconds(in_seconds)]
    text = "\n\n".join([*parts, _by_method(timed), _behind(timed)]) + "\n"
    kept = {"evaluations": [asdict(row) for row in rows], "seconds": [asdict(row) for row in in_seconds]}
    write_rows(folder, "auto_check", kept, indent=0)
    return write_page(folder, "auto_check", text)


def ratios(rows: Iterable[MethodRow]) -> list[Ratio]:
    """Auto against each other method on each case, where that method has a feasible placement."""
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
        "time over the method's, each the mean over its seeds, ± the standard error: below 1 auto is ahead. Auto is "
        f"surely behind where it is so by more than {TOLERANCE:.0%} and {SURE:g} standard errors. Where it is behind "
        f"with few seeds, it and the other method have {SEEDS_TO_BE_SURE}. Left out are the "
        "graphs on which a method has no feasible placement or no rule, and for the methods that take minutes most "
        "graphs; one seed says nothing of their scatter."
    )


def _head_in_seconds(rows: list[MethodRow]) -> str:
    graphs = len({row.name for row in rows})
    return (
        f"In the same seconds: {graphs} graphs, {SECONDS:g} s of one processor, whatever else runs on the machine; the "
        "methods that go on as long as they may. Auto leaves Scotch out in so short a time."
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
    """Where auto is behind."""
    lines = [f"- {ratio.row.name}: {_value(ratio)} of {ratio.row.method}" for ratio in found if ratio.behind]
    return "\n".join([f"Graphs on which auto is behind by more than {TOLERANCE:.0%}:", "", *(lines or ["none"])])


def _value(ratio: Ratio) -> str:
    return f"{ratio.value:.3f} ± {ratio.error:.3f}"
