"""The yardstick: the best known step time of every problem of the tables, and how far single searches are behind it.

`python -m experiments yardstick` searches each problem several times, for processor seconds, and offers what it finds
to docs/results/yardstick.jsonl, a file that only ever improves. It writes docs/results/yardstick.md. Each search is
kept in docs/results/kept/yardstick.jsonl, so a second call continues; `--set` makes it smaller.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from engine import VERSION
from engine.events import Json
from engine.placers.registry import PLACERS
from experiments.keeping.kept_results import KeptResults, Measurement, measure_missing
from experiments.keeping.statistics import mean_over
from experiments.keeping.yardstick import YARDSTICK, BestKnown, Yardstick, days_of, key_of
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.yardstick.problems import NamedProblem, named_problems
from experiments.yardstick.scope import YardstickScope, make_yardstick_scope
from experiments.yardstick.searching import order

COMMAND = "python -m experiments yardstick"
NAME = "yardstick"
Keys = dict[NamedProblem, str]
"""problem → its key in the yardstick"""


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Make the searches that are missing, write `folder`/yardstick.{jsonl,md}, and return the page."""
    given = dict(settings or {})
    scope = make_yardstick_scope(given)
    keys = keys_of(scope, report)
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl", any_code=True)
    path = folder / YARDSTICK.name
    if scope.search:
        orders = {shown(each): each for each in (*searches(keys, scope), *long_searches(keys, scope))}
        beside: dict[str, Json] = {"settings": given, "yardstick": str(path.absolute())}
        function = "experiments.yardstick.searching:in_child"
        measure_missing(kept, function, orders, scope.processes, report, beside)
    return write_page(folder, NAME, page(keys, kept, Yardstick(path).lines(), scope))


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


def page(keys: Keys, kept: KeptResults, lines: Mapping[str, BestKnown], scope: YardstickScope) -> str:
    """The page of what is known so far."""
    known = {problem: lines[key].step_time_us for problem, key in keys.items() if key in lines}
    made = [each for each in (*searches(keys, scope), *long_searches(keys, scope)) if each in kept]
    return PAGE.format(
        command=COMMAND,
        version=VERSION,
        methods=" and ".join(PLACERS[name].label for name in scope.methods.split(",")),
        seeds=scope.seeds,
        seconds=f"{scope.seconds:g}",
        long_seeds=scope.long_seeds,
        long_seconds=f"{scope.long_seconds:g}",
        searches=f"{len(made):,}",
        made=kept.made(made) if made else "none",
        days=days_of(lines[key] for key in keys.values() if key in lines),
        sets="\n".join(_table_of_sets(keys, kept, known, scope)),
        convergence="\n".join(_table_of_convergence(keys, kept, known, scope)),
        found_by="\n".join(_table_of_finders(keys, lines)),
    )


def _table_of_sets(
    keys: Keys, kept: KeptResults, known: Mapping[NamedProblem, float], scope: YardstickScope
) -> list[str]:
    methods = scope.methods.split(",")
    rows = []
    sets = list(dict.fromkeys(problem.set for problem in keys))
    for name in (*sets, *["all"] * (len(sets) > 1)):
        chosen = [problem for problem in keys if name in (problem.set, "all")]
        with_line = [problem for problem in chosen if problem in known]
        done = [each for each in with_line if all(search in kept for search in searches({each: keys[each]}, scope))]
        numbers = (len({problem.graph for problem in chosen}), len(chosen), len(with_line), len(done))
        cells = [name, *map(str, numbers)]
        for method in methods:
            cells += _mean_and_worst(_single_gaps(done, keys, kept, known, scope, method))
        rows.append([*cells, *_mean_and_worst(_gaps_of_all(done, keys, kept, known, scope))])
    heads = [f"one search of {PLACERS[method].label}" for method in methods] + [f"best of {scope.seeds}"]
    head = ["set", "graphs", "problems", "known", "searched", *(cell for each in heads for cell in (each, "worst"))]
    return table_of_figures(head, rows)


Gap = tuple[str, float]
"""graph, and by what share a search's step time there is behind the best known"""


def _single_gaps(
    problems: Iterable[NamedProblem],
    keys: Keys,
    kept: KeptResults,
    known: Mapping[NamedProblem, float],
    scope: YardstickScope,
    method: str,
) -> list[Gap]:
    """Of each single search of `method`."""
    methods = scope.methods.split(",")
    found = []
    for problem in problems:
        for seed in range(scope.seeds):
            if methods[seed % len(methods)] == method:
                time_us = _time_us(kept, order(problem, keys[problem], method, seed, scope.seconds))
                found += [(problem.graph, time_us / known[problem] - 1)] if time_us is not None else []
    return found


def _gaps_of_all(
    problems: Iterable[NamedProblem],
    keys: Keys,
    kept: KeptResults,
    known: Mapping[NamedProblem, float],
    scope: YardstickScope,
) -> list[Gap]:
    """Of the best of all searches of a problem."""
    found = []
    for problem in problems:
        times_us = _times_us(problem, keys, kept, scope, scope.seeds, scope.seconds)
        if len(times_us) == scope.seeds > 0:
            found.append((problem.graph, min(times_us) / known[problem] - 1))
    return found


def _times_us(
    problem: NamedProblem, keys: Keys, kept: KeptResults, scope: YardstickScope, seeds: int, seconds: float
) -> list[float]:
    """Step times of the searches of `seeds` seeds, less those that are missing or found nothing that fits."""
    methods = scope.methods.split(",")
    every = [
        _time_us(kept, order(problem, keys[problem], methods[seed % len(methods)], seed, seconds))
        for seed in range(seeds)
    ]
    return [each for each in every if each is not None]


def _time_us(kept: KeptResults, search: Measurement) -> float | None:
    return kept[search]["step_time_us"] if search in kept else None


def _mean_and_worst(gaps: Sequence[Gap]) -> list[str]:
    """The mean with its interval, values of a graph kept together; and the largest."""
    if not gaps:
        return ["", ""]
    units = [[gap for name, gap in gaps if name == graph] for graph in dict.fromkeys(name for name, _ in gaps)]
    return [mean_over(units).as_percent(), f"{max(gap for _, gap in gaps):.1%}"]


def _table_of_convergence(
    keys: Keys, kept: KeptResults, known: Mapping[NamedProblem, float], scope: YardstickScope
) -> list[str]:
    """How far the best of more and longer searches is behind, problem by problem."""
    rows = []
    for problem in spread(list(keys), scope.long_problems):
        if problem not in known:
            continue
        short = _times_us(problem, keys, kept, scope, scope.seeds, scope.seconds)
        long = _times_us(problem, keys, kept, scope, scope.long_seeds, scope.long_seconds)
        cells = [problem.name, f"{known[problem] / 1000:,.3f}"]
        for times_us, wanted in ((short, scope.seeds), (long, scope.long_seeds)):
            gaps = [time_us / known[problem] - 1 for time_us in times_us]
            cells += [f"{np.mean(gaps):.1%}", f"{min(gaps):.1%}"] if len(gaps) == wanted > 0 else ["", ""]
        rows.append(cells)
    short_words = f"{scope.seeds} × {scope.seconds:g} s"
    long_words = f"{scope.long_seeds} × {scope.long_seconds:g} s"
    head = ["problem", "best known, ms", f"mean of {short_words}", "best", f"mean of {long_words}", "best"]
    return table_of_figures(head, rows)


def _table_of_finders(keys: Keys, lines: Mapping[str, BestKnown]) -> list[str]:
    """What found the best known placements."""
    of_scope = [lines[key] for key in keys.values() if key in lines]
    found_by = sorted({line.found_by["method"] for line in of_scope})
    rows = [
        [
            PLACERS[method].label if method in PLACERS else method,
            str(len(own)),
            days_of(own),
        ]
        for method in found_by
        for own in [[line for line in of_scope if line.found_by["method"] == method]]
    ]
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
