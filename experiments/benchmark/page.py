"""The page of the benchmark: tables of gaps by method and stratum, the verdict on auto, what few evaluations give."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from engine import VERSION
from experiments.benchmark.clusters import BENCHMARK_CLUSTERS, TIGHT_SHARE
from experiments.benchmark.collected import EVALUATIONS, Collected
from experiments.benchmark.few_evaluations import NEAR, after, marks_within, median_to_near
from experiments.benchmark.problems import MICRO_BATCHES, BenchmarkProblem
from experiments.benchmark.running import GRACE, WITHOUT_EVALUATIONS
from experiments.benchmark.sample import SIZES
from experiments.benchmark.scores import (
    ALL,
    DIMENSIONS,
    LEVEL,
    AheadOfAuto,
    StratumScore,
    ahead_of_auto,
    by_graph,
    gap_to,
    least_of,
    mean_of_seeds,
    score,
    strata_of,
)
from experiments.keeping.statistics import MeanInterval, mean_over
from experiments.pages import table_of_figures

COMMAND = "python -m experiments benchmark"
AUTO = "auto"
NOTHING = "–"
FewGaps = dict[str, list[MeanInterval | None]]


def page(found: Collected, pictures: Mapping[str, str]) -> str:
    """The whole page; `pictures` are files beside it with their words."""
    parts = [_head(found)]
    for kind in found.budget_kinds:
        parts += [f"## At equal {kind}: {budget_words(found, kind)}", *_tables(found, kind)]
    if found.scope.evaluations:
        parts += ["## Few evaluations", *_few(found)]
    parts += ["## Problems", _problems(found)]
    parts += [f"![{words}]({file})" for file, words in pictures.items()]
    return "\n\n".join(parts) + "\n"


def budget_words(found: Collected, kind: str) -> str:
    """`100 evaluations`, or the seconds."""
    scope = found.scope
    return f"{scope.evaluations:,} evaluations" if kind == EVALUATIONS else f"{scope.seconds:g} s of one processor"


def _head(found: Collected) -> str:
    scope = found.scope
    graphs = dict.fromkeys(each.problem.graph for each in found.problems)
    clusters = "; ".join(f"*{name}*: {BENCHMARK_CLUSTERS[name].shorthand}" for name in scope.cluster_names)
    small, medium = SIZES["small"], SIZES["medium"]
    return f"""# The benchmark: every method on one scale

`{COMMAND}`; Placeto Explorer {VERSION}; {found.made()}.
{len(graphs)} graphs of the corpus's {scope.side} side, stratified by kind, mode and size (small: up to {small:,} ops;
medium: up to {medium:,}; large), in the groups that a run shows. Clusters: {clusters}; on
*tight* a device has {TIGHT_SHARE:.0%} of what the step takes on one device. Objectives: {", ".join(scope.objectives)};
throughput is the period of {MICRO_BATCHES} micro-batches in flight. All methods have their default settings.
{scope.seeds} seeds of methods that draw at random on the first {scope.seed_graphs} graphs, 1 on others. Settings, seeds
and every run: `{name_of(scope.side)}.json`.

A gap is the share by which a method is behind the best known placement of the same groups, which all runs have
improved: the mean with its 95 % interval by bootstrap over graphs, and in brackets what nine in ten problems do not
exceed. A mean is over the problems on which the method found a placement that fits; one without counts in the brackets
as infinite. Problems that a method refuses are not counted. *best*: problems on which no other method is ahead."""


def name_of(side: str) -> str:
    """The name of the side's page and files."""
    return "benchmark" if side == "test" else f"benchmark_{side}"


def _tables(found: Collected, kind: str) -> list[str]:
    values = found.values(kind)
    if not values:
        return ["No run is made yet."]
    least, strata = least_of(values), strata_of(found.best_us)
    labels = {method.name: method.label for method in found.methods}

    def scores(problems: Sequence[BenchmarkProblem]) -> dict[str, StratumScore]:
        return {method: score(of_method, problems, found.best_us, least) for method, of_method in values.items()}

    whole = scores(strata[ALL][ALL])
    order = sorted(values, key=lambda method: _mean(whole[method]))
    head = ("method", "problems", "answered", "gap to the best known", "nine in ten", "best")
    rows = [[labels[method], *_cells(whole[method])] for method in order]
    tables = ["\n".join(table_of_figures(head, rows)), _verdict(found, kind, labels)]
    for dimension in DIMENSIONS:
        by_stratum = {stratum: scores(problems) for stratum, problems in sorted(strata[dimension].items())}
        heads = ["method", *(f"{name} ({len(strata[dimension][name])})" for name in by_stratum)]
        lines = [[labels[method], *(_short(of[method]) for of in by_stratum.values())] for method in order]
        tables.append(
            f"By {dimension} (problems): mean gap [nine in ten], %\n\n" + "\n".join(table_of_figures(heads, lines))
        )
    if kind != EVALUATIONS:
        note = f"An improvement counts up to {GRACE:.0%} after the end. Methods that end sooner by themselves ran once"
        tables.append(f"{note}, for both budgets.")
    elif WITHOUT_EVALUATIONS:
        tables.append(f"Not here, since it does not spend evaluations: {', '.join(WITHOUT_EVALUATIONS)}.")
    return tables


def _mean(of: StratumScore) -> float:
    return math.inf if of.gap is None else of.gap.mean


def _cells(of: StratumScore) -> list[str]:
    gap = NOTHING if of.gap is None else of.gap.as_percent()
    return [str(of.problems), str(of.answered), gap, _percent(of.nine_in_ten), str(of.best)]


def _short(of: StratumScore) -> str:
    return NOTHING if of.gap is None else f"{100 * of.gap.mean:.1f} [{_percent(of.nine_in_ten, sign='')}]"


def _percent(value: float, sign: str = " %") -> str:
    return f"{100 * value:.1f}{sign}" if math.isfinite(value) else NOTHING


def _verdict(found: Collected, kind: str, labels: Mapping[str, str]) -> str:
    """Whether auto is at or ahead of every method in the mean of each stratum, with the exceptions."""
    values = found.values(kind)
    if AUTO not in values:
        return "Auto was not run."
    every = ahead_of_auto(values, found.best_us)
    ahead = [one for one in every if not one.is_level]
    strata = sum(map(len, strata_of(values[AUTO]).values()))
    level = (
        f" It is behind by up to {LEVEL:.1%} in {len(every) - len(ahead)} pairs of stratum and method, which counts as"
    )
    level = f"{level} level." if len(every) > len(ahead) else ""
    if not ahead:
        return f"**Auto is at or ahead of every method in the mean of each of {strata} strata.**{level}"
    behind, surely = (len({(one.dimension, one.stratum) for one in some}) for some in (ahead, _surely(ahead)))
    lines = [
        f"**Auto is behind a method in the mean of {behind} of {strata} strata, surely in {surely}.**{level}",
        "Points of the gap on the problems that both answer:",
        "",
    ]
    return "\n".join([*lines, *(_exception(one, labels) for one in ahead)])


def _surely(ahead: Sequence[AheadOfAuto]) -> list[AheadOfAuto]:
    return [one for one in ahead if one.surely]


def _exception(one: AheadOfAuto, labels: Mapping[str, str]) -> str:
    stratum = ALL if one.dimension == ALL else f"{one.dimension} {one.stratum}"
    if not math.isfinite(one.behind.mean):
        return f"- {stratum}, {labels[one.method]}: auto misses a problem that it answers"
    return f"- {stratum}, {labels[one.method]}: {one.behind.as_percent(2)}"


def few_gaps(found: Collected) -> FewGaps:
    """Method → its mean gap after each mark, over the problems on which it then has a placement that fits."""
    marks = marks_within(found.scope.evaluations)
    gaps: FewGaps = {}
    for method, of_method in found.rows_at_equal_evaluations().items():
        after_each = {
            problem: [mean_of_seeds(of_mark) for of_mark in zip(*(after(row, marks) for row in rows), strict=True)]
            for problem, rows in of_method.items()
            if problem in found.best_us
        }
        gaps[method] = []
        for index in range(len(marks)):
            at_mark = {
                problem: None if times[index] is None else gap_to(times[index] or 0.0, found.best_us[problem])
                for problem, times in after_each.items()
            }
            units = by_graph(at_mark)
            gaps[method].append(mean_over(units) if units else None)
    return gaps


def _few(found: Collected) -> list[str]:
    marks, rows = marks_within(found.scope.evaluations), found.rows_at_equal_evaluations()
    labels = {method.name: method.label for method in found.methods}
    lines = []
    for method, means in few_gaps(found).items():
        median, share = median_to_near(rows[method], found.best_us)
        near = f"{median:.0f}" if math.isfinite(median) else NOTHING
        shown = [NOTHING if mean is None else mean.as_percent() for mean in means]
        lines.append([labels[method], *shown, near, _percent(share)])
    head = ["method", *(f"after {mark}" for mark in marks), f"to {NEAR:.0%} of the best known, median", "come so near"]
    words = f"""The best after so many evaluations: mean gap to the best known, over the problems on which the method
then has a placement that fits. *To {NEAR:.0%}*: evaluations until a run is within {NEAR:.0%} of the best known, the
median over all problems that it did not refuse; {NOTHING} where fewer than half come so near."""
    return [words, "\n".join(table_of_figures(head, lines))]


def _problems(found: Collected) -> str:
    """How many problems there are, how many have an answer, and how far the bounds are."""
    infeasible = sum("infeasible" in facts for facts in found.facts.values())
    known = len(found.best_us)
    shares = [
        found.bounds[problem].lower_bound_us / best_us
        for problem, best_us in found.best_us.items()
        if problem in found.bounds and best_us > 0
    ]
    proven = sum(share >= 1 - 1e-6 for share in shares)
    looked = f"{len(found.facts):,} of {len(found.problems):,} problems were looked at; on {infeasible} nothing can fit"
    best = f"a placement that fits is known of {known:,}"
    mean = f"{sum(shares) / len(shares):.1%}" if shares else NOTHING
    bounds = f"The lower bound is {mean} of the best known in the mean; {proven} are proven optimal"
    silent = ", ".join(method.label for method in found.without_answer()) or "none"
    return f"{looked}, {best}{_unanswered(found)}. {bounds}. Methods that answered no problem: {silent}."


def _unanswered(found: Collected) -> str:
    """In words, of which problems no placement that fits is known; they are in no table."""
    counts = Counter(
        f"{problem.cluster}, {problem.objective}, {problem.graph.mode}"
        for problem, facts in found.facts.items()
        if problem not in found.best_us and "infeasible" not in facts
    )
    listed = "; ".join(f"{words}: {count}" for words, count in sorted(counts.items()))
    return f" (none of {listed}; these are in no table)" if listed else ""
