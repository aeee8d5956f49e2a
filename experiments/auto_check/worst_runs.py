"""How far auto's worst run of ten is behind the best known placement, with a budget that users give.

Each graph is searched in 128 groups and through all levels of groups, which is the default of commands and uploads;
both are compared with the best known placement in 128 groups.

`python -m experiments worst_runs` writes docs/results/worst_runs.{md,json}. Results stay in docs/results/kept, so a
second call measures only those that the present code lacks.
"""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import fmean

from engine import VERSION
from engine.problem import Budget
from engine.zoo.families.family import prepared_family
from engine.zoo.families.members import members
from experiments.auto_check.cases import Case
from experiments.auto_check.measuring import Reached, key, measure
from experiments.folders import CACHE
from experiments.grid import KeptResults
from experiments.keeping.yardstick import YARDSTICK, Yardstick
from experiments.pages import ReportLine, table_of_figures, write_page, write_rows
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments worst_runs"
GRAPH = "inception_v3"
CLUSTERS = ("2xK80", "4xK80")
FAMILY, FAMILY_SEED, FAMILY_COUNT = "cifar10", 1, 32
"""its ten test graphs"""
EVALUATIONS, SEEDS = 20_000, 10
LONG_EVALUATIONS, LONG_SEEDS = 100_000, 2
"""further runs of auto, which count only for the best known"""
GOAL = 0.015


@dataclass(frozen=True, slots=True)
class WorstRun:
    """Auto's runs on one graph and cluster."""

    name: str
    best_us: float
    """best known step time in 128 groups"""
    gaps: tuple[float, ...]
    """for each seed, the best of the run over the best known, less 1"""
    level_gaps: tuple[float, ...] = ()
    """the same of the runs through all levels, beside the same best known; below 0 where they are ahead"""

    @property
    def worst(self) -> float:
        """The largest gap in 128 groups."""
        return max(self.gaps)

    @property
    def worst_beside_any(self) -> float:
        """The largest gap of a run through all levels to the best known of any grouping."""
        return (1 + max(self.level_gaps)) / (1 + min(0.0, *self.level_gaps)) - 1


def run(folder: Path, report: ReportLine) -> str:
    """Run auto on all graphs, write `folder`/worst_runs.{md,json}, and return the page."""
    every = list(cases(report))
    through_levels = [replace(case, levels=True) for case in every]
    kept, processes = folder / "kept" / "worst_runs.jsonl", os.cpu_count() or 1
    measured = (
        (every, Budget(EVALUATIONS), SEEDS),
        (every, Budget(LONG_EVALUATIONS), LONG_SEEDS),
        (through_levels, Budget(EVALUATIONS), SEEDS),
    )
    usual_us, long_us, levels_us = (
        _step_times_us(measure(some, {case.name: {"auto": seeds} for case in some}, budget, kept, processes, report))
        for some, budget, seeds in measured
    )
    yardstick = Yardstick(folder / YARDSTICK.name)
    rows = []
    for case in every:
        known_us = yardstick.best_us(case.problem(Budget(1)))
        further_us = [*long_us[case.name], *([] if known_us is None else [known_us])]
        rows.append(worst_run(case.name, usual_us[case.name], levels_us[case.name], further_us))
    keys = [
        key(case, "auto", seed, budget) for some, budget, seeds in measured for case in some for seed in range(seeds)
    ]
    write_rows(folder, "worst_runs", [asdict(row) for row in rows], indent=0)
    return write_page(folder, "worst_runs", page(rows, KeptResults(kept).made(keys)))


def _step_times_us(found: Mapping[str, Sequence[Reached]]) -> dict[str, list[float]]:
    """By case, the step times of the runs that found a feasible placement."""
    return {
        name: [one.step_time_us for one in reached if one.step_time_us is not None] for name, reached in found.items()
    }


def cases(report: ReportLine) -> Iterator[Case]:
    """Inception-V3 and the family's test graphs, on each cluster."""
    report(f"preparing {FAMILY}")
    family = prepared_family(FAMILY, CACHE / "families", lambda *_: None, FAMILY_SEED, FAMILY_COUNT, "test")
    tests = [member for member in members(FAMILY, FAMILY_SEED, FAMILY_COUNT) if member.split == "test"]
    graphs = {f"{each.name}, seed {FAMILY_SEED}": graph for each, graph in zip(tests, family.test, strict=True)}
    for name, prepared in {GRAPH: prepared_zoo_graph(GRAPH, report), **graphs}.items():
        for cluster in CLUSTERS:
            yield Case("", f"{name}, {cluster}", prepared, cluster, with_all=False, timed=False)


def worst_run(
    name: str, times_us: Sequence[float], levels_us: Sequence[float], further_us: Sequence[float] = ()
) -> WorstRun:
    """The gaps of `times_us` and `levels_us`, the bests of each seed, to the least of the first and of `further_us`."""
    best_us = min(chain(times_us, further_us))
    gaps, level_gaps = (tuple(time_us / best_us - 1 for time_us in times) for times in (times_us, levels_us))
    return WorstRun(name, best_us, gaps, level_gaps)


def page(rows: Sequence[WorstRun], made: str) -> str:
    """The table with its verdicts above."""
    lines = [
        [
            row.name,
            f"{row.best_us / 1e6:.4f}",
            *(f"{100 * gap:.2f} %" for gap in (fmean(row.gaps), row.worst)),
            *(f"{100 * gap:+.2f} %" for gap in (fmean(row.level_gaps), max(row.level_gaps))),
            f"{100 * row.worst_beside_any:.2f} %",
        ]
        for row in rows
    ]
    head = ("graph, cluster", "best known in 128, s", "128 groups: mean", "worst", "all levels: mean", "worst")
    table = "\n".join(table_of_figures((*head, "worst beside the best known of any grouping"), lines))
    return f"""# Auto's worst runs

`{COMMAND}`; Placeto Explorer {VERSION}, {platform.machine()}; {made}.
Auto with {EVALUATIONS:,} evaluations, {SEEDS} seeds: in 128 groups, and through all levels of groups (`--groups auto`,
the default). A gap is a run's best step time over the best known one in 128 groups, less 1; below 0 a run is ahead of
it. Best known is the least of the runs in 128 groups, of {LONG_SEEDS} of {LONG_EVALUATIONS:,} evaluations, and of
{YARDSTICK.name}. The last column compares the runs through all levels with the least of all these and of themselves.

The goal is {100 * GOAL:.1f} % at most.

- In 128 groups: {_verdict({row.name: row.gaps for row in rows})}
- Through all levels: {_verdict({row.name: row.level_gaps for row in rows})}

{table}
"""


def _verdict(gaps: Mapping[str, Sequence[float]]) -> str:
    """How many runs on how many problems miss the goal, and the worst of them."""
    worst = max(gaps, key=lambda name: max(gaps[name]))
    runs = sum(gap > GOAL for of_problem in gaps.values() for gap in of_problem)
    beyond = sum(max(of_problem) > GOAL for of_problem in gaps.values())
    return (
        f"{runs} of {sum(map(len, gaps.values()))} runs, on {beyond} of {len(gaps)} problems, are behind by more; "
        f"the worst by {100 * max(gaps[worst]):.2f} % ({worst})."
    )
