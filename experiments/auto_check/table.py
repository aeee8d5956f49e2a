"""Whether auto is behind another method with the same evaluations, or in the same seconds, on graphs of many kinds.

`python -m experiments auto_check` writes docs/results/auto_check.{md,json}; every figure in it comes from here. Results
stay in docs/results/kept, so a second call measures only those that the present code lacks. Differences are paired by
seed. Where auto is behind in the mean, it and the other method get more seeds.
"""

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from engine import VERSION
from engine.events import Json
from engine.placers.registry import PLACERS
from engine.problem import MOST_EVALUATIONS, Budget
from experiments.auto_check.cases import GRAPHS_SEED, Case, cases
from experiments.auto_check.comparing import TOLERANCE, PairedComparison, compared, verdict
from experiments.auto_check.measuring import Reached, Seeds, key, measure, members_of
from experiments.grid import KeptResults
from experiments.keeping.statistics import mean_over
from experiments.pages import ReportLine, table_of_figures, write_page, write_rows

COMMAND = "python -m experiments auto_check"
EVALUATIONS = 2000
SEEDS = 8
FEWER_SEEDS = {"regal": 4, "placeto": 3, "spotlight": 3, "rnn": 3, "hierarchical": 3}
SEEDS_TO_BE_SURE = 24
"""of auto and of a quick method that is ahead of it by more than the tolerance, on that graph: fewer seeds mislead"""
SLOW = ("placeto", "spotlight", "rnn", "hierarchical")
"""methods that take minutes: they are run on a part of the graphs; the first of these on more graphs"""
LEFT_OUT = frozenset({"cpu_only", "exhaustive", "pipeline_dp", "milp"})
"""the clusters have no CPU; the graphs have too many placements to try all; the objective is the step time; it begins
with auto"""
SECONDS = 2.0
SEEDS_IN_SECONDS = {"auto": 8, "local_search": 8, "random": 2, "brkga": 4, "post": 4, "regal": 4, "placeto": 4}
"""methods that use all the time they have"""


def run(folder: Path, report: ReportLine) -> str:
    """Compare on all cases, write `folder`/auto_check.{md,json}, and return the tables."""
    every = list(cases(report))
    kept, processes = folder / "kept" / "auto_check.jsonl", os.cpu_count() or 1
    seeds: Mapping[str, Seeds] = {case.name: seeds_for(case) for case in every}
    budget = Budget(EVALUATIONS)
    found = measure(every, seeds, budget, kept, processes, report)
    if (more := more_seeds(seeds, compared(found))) != seeds:
        seeds, found = more, measure(every, more, budget, kept, processes, report)
    timed = [case for case in every if case.timed]
    timed_seeds = dict.fromkeys((case.name for case in timed), SEEDS_IN_SECONDS)
    timed_budget = Budget(MOST_EVALUATIONS, SECONDS)
    found_in_time = measure(timed, timed_seeds, timed_budget, kept, processes, report)
    keys = [
        key(case, method, seed, one_budget)
        for some, of_some, one_budget in ((every, seeds, budget), (timed, timed_seeds, timed_budget))
        for case in some
        for method, seed in members_of(of_some[case.name])
    ]
    write_rows(folder, "auto_check", {"evaluations": rows(found), "seconds": rows(found_in_time)}, indent=0)
    return write_page(
        folder, "auto_check", page(compared(found), compared(found_in_time), KeptResults(kept).made(keys))
    )


def seeds_for(case: Case) -> dict[str, int]:
    """Seeds of every method that is compared on `case`, auto first."""
    slow = SLOW if case.with_all else SLOW[:1] if case.timed else ()
    methods = [name for name in PLACERS if name not in LEFT_OUT and (name in slow or name not in SLOW)]
    return {name: 1 if PLACERS[name].deterministic else FEWER_SEEDS.get(name, SEEDS) for name in methods}


def more_seeds(seeds: Mapping[str, Seeds], comparisons: Iterable[PairedComparison]) -> dict[str, Seeds]:
    """`seeds` by case, with more for auto and for each quick method ahead of it that depends on the seed."""
    changed = {name: dict(counts) for name, counts in seeds.items()}
    for one in comparisons:
        if one.behind and one.method not in SLOW:
            for method in ("auto", one.method):
                if not PLACERS[method].deterministic:
                    changed[one.name][method] = SEEDS_TO_BE_SURE
    return dict(changed)


def rows(found: Mapping[str, Sequence[Reached]]) -> list[Json]:
    """For each case and method the step times of its seeds, for the JSON beside the page."""
    return [
        {"name": name, "method": method, "step_times_us": [one.step_time_us for one in seeds]}
        for name, reached in found.items()
        for method, seeds in groupby(reached, key=lambda one: one.method)
    ]


def page(equal: Sequence[PairedComparison], timed: Sequence[PairedComparison], made: str) -> str:
    """Both tables with what stands above them."""
    return "\n\n".join([_head(equal, made), *_tables(equal), _head_in_seconds(timed), *_tables(timed)]) + "\n"


def _head(equal: Sequence[PairedComparison], made: str) -> str:
    return f"""# Auto beside every method

`{COMMAND}`; Placeto Explorer {VERSION}, {platform.machine()}; {made}.
{_graphs(equal)} graphs, {EVALUATIONS:,} evaluations. The random graphs are of seed {GRAPHS_SEED}, which tuning never
saw; the zoo is not new to it.

A difference is auto's step time less the method's, over the method's mean, seed by seed: below 0 auto is ahead.
Intervals are of 95 %: over the graphs by bootstrap, on one graph by paired t. *Behind* is a mean above {TOLERANCE:.0%};
such a graph gets {SEEDS_TO_BE_SURE} seeds of auto and of the method, unless that takes minutes. Of these, *slower* are
surely above 0, *surely* surely above {TOLERANCE:.0%}: one-sided, with Holm's correction over the method's graphs.
A graph is skipped where the method refuses it or finds nothing feasible. Methods that take minutes have a part of the
graphs."""


def _head_in_seconds(timed: Sequence[PairedComparison]) -> str:
    return f"""In the same seconds: {_graphs(timed)} graphs, {SECONDS:g} s of one processor's own time; methods that use
all the time they have. Auto leaves Scotch out in so short a time."""


def _graphs(comparisons: Iterable[PairedComparison]) -> int:
    return len({one.name for one in comparisons})


def _tables(comparisons: Sequence[PairedComparison]) -> tuple[str, str]:
    """The table of the methods, and the list of graphs on which auto is behind."""
    head = ("method", "seeds", "graphs", "mean difference", "worst graph", "behind", "slower", "surely")
    lines = []
    for method in dict.fromkeys(one.method for one in comparisons):
        of_method = verdict(one for one in comparisons if one.method == method)
        counts = sorted({one.seeds for one in of_method.comparisons})
        finite = [one.differences for one in of_method.comparisons if one.is_finite]
        lines.append(
            [
                method,
                " or ".join(map(str, counts)) + (", deterministic" if PLACERS[method].deterministic else ""),
                str(len(of_method.comparisons)),
                mean_over(finite).as_percent() if finite else "none is finite",
                of_method.worst.interval.as_percent(),
                *(str(len(some)) for some in (of_method.behind, of_method.slower, of_method.surely)),
            ]
        )
    behind = [f"- {one.name}: {one.interval.as_percent()} of {one.method}" for one in comparisons if one.behind]
    listed = [f"Graphs on which auto is behind by more than {TOLERANCE:.0%} in the mean:", "", *(behind or ["none"])]
    return "\n".join(table_of_figures(head, lines)), "\n".join(listed)
