"""The yardstick: the best known step time of every problem of the tables, and how far single searches are behind it.

`python -m experiments yardstick` searches each problem several times, for processor seconds, and offers what it finds
to docs/results/yardstick.jsonl, a file that only ever improves. It writes docs/results/yardstick.md. Each search is
kept in docs/results/kept/yardstick.jsonl, so a second call continues; `--set` makes it smaller.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from engine import VERSION
from engine.events import Json
from engine.placers.registry import PLACERS
from experiments.grid import KeptResults, Measurement, measure_cells, of_any_code
from experiments.keeping.statistics import mean_over
from experiments.keeping.yardstick import YARDSTICK, BestKnown, Yardstick, days_of, key_of
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.yardstick.problems import NamedProblem, named_problems
from experiments.yardstick.scope import YardstickScope, make_yardstick_scope
from experiments.yardstick.searching import order

COMMAND = "python -m experiments yardstick"
NAME = "yardstick"
EVERY = "all"
Keys = dict[NamedProblem, str]
"""problem → its key in the yardstick"""


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Make the searches that are missing, write `folder`/yardstick.{jsonl,md}, and return the page."""
    given = dict(settings or {})
    scope = make_yardstick_scope(given)
    keys = keys_of(scope, report)
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl", also=of_any_code)
    path = folder / YARDSTICK.name
    if scope.search:
        orders = {shown(each): each for each in (*searches(keys, scope), *long_searches(keys, scope))}
        beside: dict[str, Json] = {"settings": given, "yardstick": str(path.absolute())}
        function = "experiments.yardstick.searching:in_child"
        measure_cells(kept, function, orders, scope.processes, report, beside=beside)
    return write_page(folder, NAME, page(SearchesSoFar(keys, kept, Yardstick(path).lines(), scope)))


def keys_of(scope: YardstickScope, report: ReportLine) -> Keys:
    """All problems of the scope with their keys; graphs that the cache lacks are built."""
    found: Keys = {}
    for _, of_graph in groupby(named_problems(scope), lambda each: (each.set, each.graph, each.batch)):
        problems = list(of_graph)
        prepared = problems[0].prepared(scope, report)
        found |= {each: key_of(each.on_cluster(prepared)) for each in problems}
    return found


def searches(keys: Keys, scope: YardstickScope) -> Iterator[Measurement]:
    """The searches of all problems, a seed after the other."""
    methods = scope.methods.split(",")
    for seed in range(scope.seeds):
        for problem, key in keys.items():
            yield order(problem, key, methods[seed % len(methods)], seed, scope.seconds)


def long_searches(keys: Keys, scope: YardstickScope) -> Iterator[Measurement]:
    """The long searches of some problems, which are spread over all."""
    methods = scope.methods.split(",")
    for seed in range(scope.long_seeds):
        for problem in spread(list(keys), scope.long_problems):
            yield order(problem, keys[problem], methods[seed % len(methods)], seed, scope.long_seconds)


def spread(problems: Sequence[NamedProblem], count: int) -> list[NamedProblem]:
    """`count` of the problems at even distances, or all where there are fewer."""
    chosen = np.linspace(0, len(problems) - 1, min(count, len(problems))).round().astype(int)
    return [problems[index] for index in dict.fromkeys(chosen.tolist())]


def shown(search: Measurement) -> str:
    """A search in words."""
    of = search["of"]
    assert isinstance(of, dict)
    name = NamedProblem(**of).name  # type: ignore[arg-type]  # made by `order`
    return f"{name}: {search['method']}, seed {search['seed']}, {search['seconds']:g} s"


@dataclass(frozen=True, slots=True)
class SearchesSoFar:
    """What is known of the scope's problems so far."""

    keys: Keys
    kept: KeptResults
    lines: Mapping[str, BestKnown]
    """key → the yardstick's line"""
    scope: YardstickScope

    def best_us(self, problem: NamedProblem) -> float:
        """The best known step time. Raises KeyError if none is known."""
        return self.lines[self.keys[problem]].step_time_us

    def known(self, problems: Iterable[NamedProblem]) -> list[NamedProblem]:
        """Those with a line in the yardstick."""
        return [problem for problem in problems if self.keys[problem] in self.lines]

    def is_searched(self, problem: NamedProblem) -> bool:
        """Whether all its short searches are made."""
        return all(each in self.kept for each in searches({problem: self.keys[problem]}, self.scope))

    def gaps(self, problem: NamedProblem, seeds: int, seconds: float, method: str = "") -> list[float]:
        """Shares by which its searches, of `method` or of all, are behind; those that found nothing are left out."""
        methods = self.scope.methods.split(",")
        every = [
            order(problem, self.keys[problem], of_seed, seed, seconds)
            for seed in range(seeds)
            for of_seed in [methods[seed % len(methods)]]
            if method in ("", of_seed)
        ]
        times_us = [self.kept[each]["step_time_us"] for each in every if each in self.kept]
        return [time_us / self.best_us(problem) - 1 for time_us in times_us if time_us is not None]


def page(found: SearchesSoFar) -> str:
    """The page of what is known so far."""
    scope = found.scope
    made = [each for each in (*searches(found.keys, scope), *long_searches(found.keys, scope)) if each in found.kept]
    return PAGE.format(
        command=COMMAND,
        version=VERSION,
        methods=" and ".join(PLACERS[name].label for name in scope.methods.split(",")),
        seeds=scope.seeds,
        seconds=f"{scope.seconds:g}",
        long_seeds=scope.long_seeds,
        long_seconds=f"{scope.long_seconds:g}",
        searches=f"{len(made):,}",
        made=found.kept.made(made) if made else "none",
        days=days_of(found.lines[key] for key in found.keys.values() if key in found.lines),
        sets="\n".join(_table_of_sets(found)),
        convergence="\n".join(_table_of_convergence(found)),
        found_by="\n".join(_table_of_finders(found)),
    )


def _table_of_sets(found: SearchesSoFar) -> list[str]:
    scope = found.scope
    methods = scope.methods.split(",")
    sets = list(dict.fromkeys(problem.set for problem in found.keys))
    rows = []
    for name in (*sets, *[EVERY] * (len(sets) > 1)):
        chosen = [problem for problem in found.keys if name in (problem.set, EVERY)]
        known = found.known(chosen)
        done = [problem for problem in known if found.is_searched(problem)]
        numbers = (len({problem.graph for problem in chosen}), len(chosen), len(known), len(done))
        cells = [name, *map(str, numbers)]
        for method in methods:
            cells += _mean_and_worst([(each, found.gaps(each, scope.seeds, scope.seconds, method)) for each in done])
        every = [(each, found.gaps(each, scope.seeds, scope.seconds)) for each in done]
        rows.append([*cells, *_mean_and_worst([(each, [min(gaps)]) for each, gaps in every if gaps])])
    heads = [f"one search of {PLACERS[method].label}" for method in methods] + [f"best of {scope.seeds}"]
    head = ["set", "graphs", "problems", "known", "searched", *(cell for each in heads for cell in (each, "worst"))]
    return table_of_figures(head, rows)


def _mean_and_worst(of_problems: Sequence[tuple[NamedProblem, list[float]]]) -> list[str]:
    """The mean gap with its interval, values of a graph kept together; and the largest."""
    of_graph: dict[str, list[float]] = {}
    for problem, gaps in of_problems:
        if gaps:
            of_graph.setdefault(problem.graph, []).extend(gaps)
    if not of_graph:
        return ["", ""]
    return [mean_over(list(of_graph.values())).as_percent(), f"{max(map(max, of_graph.values())):.1%}"]


def _table_of_convergence(found: SearchesSoFar) -> list[str]:
    """How far the best of more and longer searches is behind, problem by problem."""
    scope = found.scope
    budgets = ((scope.seeds, scope.seconds), (scope.long_seeds, scope.long_seconds))
    rows = []
    for problem in found.known(spread(list(found.keys), scope.long_problems)):
        cells = [problem.name, f"{found.best_us(problem) / 1000:,.3f}"]
        for seeds, seconds in budgets:
            gaps = found.gaps(problem, seeds, seconds)
            cells += [f"{np.mean(gaps):.1%}", f"{min(gaps):.1%}"] if len(gaps) == seeds > 0 else ["", ""]
        rows.append(cells)
    heads = [cell for seeds, seconds in budgets for cell in (f"mean of {seeds} × {seconds:g} s", "best")]
    return table_of_figures(["problem", "best known, ms", *heads], rows)


def _table_of_finders(found: SearchesSoFar) -> list[str]:
    """What found the best known placements."""
    lines = [found.lines[found.keys[problem]] for problem in found.known(found.keys)]
    rows = []
    for method in sorted({line.found_by["method"] for line in lines}):
        own = [line for line in lines if line.found_by["method"] == method]
        label = PLACERS[method].label if method in PLACERS else method
        rows.append([label, str(len(own)), days_of(own)])
    return table_of_figures(["found by", "problems", "days"], rows)


PAGE = """# The yardstick: best known step times

`{command}`; Placeto Explorer {version}. The best known placement of each problem is in
`yardstick.jsonl`, with what found it and when (lines of {days}). The file only ever improves. A problem is a
graph with its costs and groups on a cluster with its links and memory model: change one and it is another problem.

{methods} take turns: {seeds} searches of {seconds} s of a processor for each problem, and {long_seeds} of
{long_seconds} s for some. {searches} of them are made ({made}).

A gap is the share by which a search's step time is behind the best known: the mean, in brackets its 95 % interval by
bootstrap over graphs (clusters and seeds of a graph kept together), and the worst. Gaps are of the problems that have
all their searches of {seconds} s ("searched"). They are lower bounds: a better placement may be found at any time.

{sets}

## Convergence

Some problems at even distances in the list of all: the mean and the best of their searches, behind the best known.

{convergence}

## What found them

{found_by}
"""
