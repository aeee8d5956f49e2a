"""How far auto's worst run of ten is behind the best known placement, with a budget that users give.

`python -m experiments worst_runs` writes docs/results/worst_runs.{md,json}. Results stay in docs/results/kept, so a
second call measures only those that the present code lacks.
"""

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean

from engine import VERSION
from engine.problem import Budget
from engine.zoo.families.family import prepared_family
from engine.zoo.families.members import members
from experiments.auto_check.cases import Case
from experiments.auto_check.measuring import key, measure
from experiments.keeping.kept_results import KeptResults
from experiments.keeping.yardstick import YARDSTICK, Yardstick
from experiments.pages import ReportLine, table_of_figures, write_page, write_rows
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments worst_runs"
GRAPH = "inception_v3"
CLUSTERS = ("2xK80", "4xK80")
FAMILY, FAMILY_SEED, FAMILY_COUNT = "cifar10", 1, 32
"""its ten test graphs"""
CACHE = Path(".cache") / "families"
EVALUATIONS, SEEDS = 20_000, 10
LONG_EVALUATIONS, LONG_SEEDS = 100_000, 2
"""further runs of auto, which count only for the best known"""
GOAL = 0.015


@dataclass(frozen=True, slots=True)
class WorstRun:
    """Auto's runs on one graph and cluster."""

    name: str
    best_us: float
    """best known step time"""
    gaps: tuple[float, ...]
    """for each seed, the best of the run over the best known, less 1"""

    @property
    def worst(self) -> float:
        """The largest gap."""
        return max(self.gaps)


def run(folder: Path, report: ReportLine) -> str:
    """Run auto on all graphs, write `folder`/worst_runs.{md,json}, and return the page."""
    every = list(cases(report))
    kept, processes = folder / "kept" / "worst_runs.jsonl", os.cpu_count() or 1
    budgets = {Budget(EVALUATIONS): SEEDS, Budget(LONG_EVALUATIONS): LONG_SEEDS}
    times_us: dict[str, list[list[float]]] = {case.name: [] for case in every}
    for budget, seeds in budgets.items():
        found = measure(every, {case.name: {"auto": seeds} for case in every}, budget, kept, processes, report)
        for name, reached in found.items():
            times_us[name].append([one.step_time_us for one in reached if one.step_time_us is not None])
    yardstick = Yardstick(folder / YARDSTICK.name)
    for case in every:
        known_us = yardstick.best_us(case.problem(Budget(1)))
        times_us[case.name].append([] if known_us is None else [known_us])
    rows = [worst_run(name, *of_case) for name, of_case in times_us.items()]
    keys = [
        key(case, "auto", seed, budget) for case in every for budget, seeds in budgets.items() for seed in range(seeds)
    ]
    write_rows(folder, "worst_runs", [asdict(row) for row in rows], indent=0)
    return write_page(folder, "worst_runs", page(rows, KeptResults(kept).made(keys)))


def cases(report: ReportLine) -> Iterator[Case]:
    """Inception-V3 and the family's test graphs, on each cluster."""
    report(f"preparing {FAMILY}")
    family = prepared_family(FAMILY, CACHE, lambda *_: None, FAMILY_SEED, FAMILY_COUNT, "test")
    tests = [member for member in members(FAMILY, FAMILY_SEED, FAMILY_COUNT) if member.split == "test"]
    graphs = {f"{each.name}, seed {FAMILY_SEED}": graph for each, graph in zip(tests, family.test, strict=True)}
    for name, prepared in {GRAPH: prepared_zoo_graph(GRAPH, report), **graphs}.items():
        for cluster in CLUSTERS:
            yield Case("", f"{name}, {cluster}", prepared, cluster, with_all=False, timed=False)


def worst_run(name: str, times_us: Sequence[float], *further_us: Sequence[float]) -> WorstRun:
    """The gaps of `times_us`, auto's best of each seed, to the least of them and of all `further_us`."""
    best_us = min(chain(times_us, *further_us))
    return WorstRun(name, best_us, tuple(time_us / best_us - 1 for time_us in times_us))


def page(rows: Sequence[WorstRun], made: str) -> str:
    """The table with its verdict above."""
    worst = max(rows, key=lambda row: row.worst)
    beyond = sum(row.worst > GOAL for row in rows)
    runs = sum(gap > GOAL for row in rows for gap in row.gaps)
    lines = [
        [row.name, f"{row.best_us / 1e6:.4f}", *(f"{gap:.2%}" for gap in (fmean(row.gaps), row.worst))] for row in rows
    ]
    table = "\n".join(table_of_figures(("graph, cluster", "best known, s", "mean gap", "worst gap"), lines))
    return f"""# Auto's worst runs

`{COMMAND}`; Placeto Explorer {VERSION}, {platform.machine()}; {made}.
Auto with {EVALUATIONS:,} evaluations, {SEEDS} seeds; a gap is a run's best step time over the best known one, less 1.
Best known is the least of these runs, of {LONG_SEEDS} of {LONG_EVALUATIONS:,} evaluations, and of {YARDSTICK.name}.

The goal is {GOAL:.1%} at most. The worst run of all is {worst.worst:.2%} behind ({worst.name}). {runs} of
{SEEDS * len(rows)} runs, on {beyond} of {len(rows)} problems, are behind by more than the goal.

{table}
"""
