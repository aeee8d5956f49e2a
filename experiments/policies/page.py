"""The page of an experiment with policies: gaps to the search, by graphs and clusters, beside the other methods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles
from typing import TypeAlias

from engine import VERSION
from engine.placers.registry import PLACERS
from experiments.folders import below_root
from experiments.keeping.statistics import MeanInterval, mean_over
from experiments.keeping.yardstick import BestKnown, Yardstick, days_of
from experiments.pages import left_rule, table_line
from experiments.policies.measuring import QUICK, SEARCH, SLOW, Compared, Proposed
from experiments.policies.scope import MIDDLE_SECONDS, SHORT_SECONDS, ExperimentScope

EVERY = "all"


@dataclass(frozen=True, slots=True)
class PolicyRows:
    """The measurements on one set of graphs."""

    compared: list[Compared]
    proposed: list[Proposed]


@dataclass(frozen=True, slots=True)
class Gaps:
    """Relative gaps of one method to a reference, graph by graph (and seed by seed)."""

    label: str
    of_graph: dict[str, list[float]]
    """graph → the gaps on all clusters and with all seeds"""
    missing: int
    """number of cases in which it, or the reference, has nothing feasible"""

    @property
    def values(self) -> list[float]:
        return [value for of in self.of_graph.values() for value in of]

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def nine_in_ten(self) -> float:
        """The gap that nine in ten stay within."""
        return quantiles(self.values, n=10, method="inclusive")[-1] if len(self.values) > 1 else self.values[0]

    @property
    def interval(self) -> MeanInterval:
        """The mean with its interval over graphs."""
        return mean_over(list(self.of_graph.values()))


Reference: TypeAlias = Mapping[tuple[str, str], float | None]
"""(graph, cluster) → the step time to which gaps are taken, None where there is none"""


def to_the_search(rows: PolicyRows, scope: ExperimentScope) -> Reference:
    """The step times of the long search."""
    return {(row.graph, row.cluster): row.reached[reference(scope)] for row in rows.compared}


def to_the_best_known(rows: PolicyRows, lines: Mapping[str, BestKnown]) -> Reference:
    """The step times of the yardstick's `lines`."""
    found = {(row.graph, row.cluster): lines.get(row.problem) for row in rows.compared}
    return {of: None if line is None else line.step_time_us for of, line in found.items()}


def gaps(rows: PolicyRows, scope: ExperimentScope, measure: Reference, cluster: str = EVERY) -> list[Gaps]:
    """Gaps of each answer of the policies and of each method to `measure`, on one cluster or all."""
    found = []
    answers = (("greedy pass", "greedy_us"), (f"best of {1 + scope.samples}", "best_of_us"))
    for label, field in (*answers, (f"{PLACERS[SEARCH].label} with it, {SHORT_SECONDS:g} s", "searched_us")):
        pairs = [
            (row.graph, getattr(row, field), measure[row.graph, row.cluster])
            for row in rows.proposed
            if cluster in (EVERY, row.cluster)
        ]
        found.append(_gaps(label, pairs))
    for method in methods(rows, scope):
        pairs = [
            (row.graph, row.reached[method], measure[row.graph, row.cluster])
            for row in rows.compared
            if cluster in (EVERY, row.cluster)
        ]
        found.append(_gaps(label_of(method), pairs))
    return found


def _gaps(label: str, pairs: Sequence[tuple[str, float | None, float | None]]) -> Gaps:
    of_graph: dict[str, list[float]] = {}
    missing = 0
    for graph, time_us, least_us in pairs:
        if time_us is None or least_us is None:
            missing += 1
        else:
            of_graph.setdefault(graph, []).append(time_us / least_us - 1)
    return Gaps(label, of_graph, missing)


def reference(scope: ExperimentScope) -> str:
    """The search that is the reference of all gaps."""
    return f"search_{scope.search_seconds:g}"


def methods(rows: PolicyRows, scope: ExperimentScope) -> list[str]:
    """The methods that every row has, in the order of the columns."""
    searches = [f"search_{seconds:g}" for seconds in (SHORT_SECONDS, MIDDLE_SECONDS)]
    listed = [*searches, *QUICK, *SLOW, "single_device", "rnn", "random"]
    had = [method for method in listed if all(method in row.reached for row in rows.compared)]
    return [method for method in had if method != reference(scope)]


def label_of(method: str) -> str:
    """The method's name for people."""
    if method.startswith("search_"):
        return f"search, {method.removeprefix('search_')} s"
    if method == "rnn":
        return "RNN, zero-shot"
    return "random, mean" if method == "random" else PLACERS[method].label


def tables(command: str, title: str, rows: Mapping[str, PolicyRows], scope: ExperimentScope) -> str:
    """The whole page; `rows` by the text of the tables' first column."""
    search = PLACERS[SEARCH].label
    with_rnn = any("rnn" in row.reached for of in rows.values() for row in of.compared)
    head = f"""# {title}

`{command}`; Placeto Explorer {VERSION}. Ran with: {scope.words(with_rnn=with_rnn)}.

Relative gap of the step time to {scope.search_seconds:g} s of search ({search}); below 0 the step is shorter. Estimated
costs, simulated steps. Mean over graphs, clusters and seeds; in brackets the gap that nine in ten stay within.
"""
    first = next(iter(rows.values()))
    labels = [each.label for each in gaps(first, scope, to_the_search(first, scope))]
    lines = ["| | cluster | " + " | ".join(labels) + " |", left_rule(2 + len(labels))]
    for name, of in rows.items():
        for cluster in (*scope.cluster_names, EVERY):
            cells = [_cell(each) for each in gaps(of, scope, to_the_search(of, scope), cluster)]
            lines.append(table_line([name, cluster, *cells]))
    readings = [_reading(name, of, scope) for name, of in rows.items()]
    return "\n".join([head, *lines, "", *readings, "", *_best_known(rows, scope), ""])


def _best_known(rows: Mapping[str, PolicyRows], scope: ExperimentScope) -> list[str]:
    """The part with gaps to the best known step times, and intervals."""
    known = Yardstick(below_root(scope.yardstick)).lines()
    problems = {row.problem for of in rows.values() for row in of.compared}
    lines_of = [known[each] for each in problems & known.keys()]
    if not lines_of:
        return ["No step time of these problems is in the yardstick yet."]
    head = f"""## Behind the best known

The same gaps to {scope.search_seconds:g} s of search, and to the best known step time of the same graph, costs, groups
and cluster, which another search may improve (`yardstick.jsonl`: {len(lines_of)} of {len(problems)} problems, found on
{days_of(lines_of)}). In brackets 95 % intervals by bootstrap over graphs; a graph's clusters and seeds are drawn
together.
"""
    lines = [head, table_line(["", "method", "to the search", "to the best known", "worst"]), left_rule(5)]
    for name, of in rows.items():
        searched = {each.label: each for each in gaps(of, scope, to_the_search(of, scope))}
        for each in gaps(of, scope, to_the_best_known(of, known)):
            if each.values:
                to_search = searched[each.label].interval.as_percent() if searched[each.label].values else ""
                lines.append(
                    table_line([name, each.label, to_search, each.interval.as_percent(), f"{max(each.values):+.1%}"])
                )
    return lines


def tables_by_graph(rows: Mapping[str, PolicyRows], scope: ExperimentScope) -> str:
    """Another table: each graph by itself, over all clusters and seeds."""
    lines: list[str] = []
    for name, of in rows.items():
        for graph in dict.fromkeys(row.graph for row in of.compared):
            of_graph = PolicyRows(
                [row for row in of.compared if row.graph == graph], [row for row in of.proposed if row.graph == graph]
            )
            found = gaps(of_graph, scope, to_the_search(of_graph, scope))
            lines = lines or ["| | graph | " + " | ".join(each.label for each in found) + " |"]
            lines += [left_rule(2 + len(found))] * (len(lines) == 1)
            lines.append(table_line([name, graph, *map(_cell, found)]))
    return "\n".join([*lines, ""])


def _cell(method: Gaps) -> str:
    if not method.values:
        return "none fits"
    missed = f", {method.missing} without" if method.missing else ""
    return f"{method.mean:+.1%} ({method.nine_in_ten:+.1%}{missed})"


def _reading(name: str, rows: PolicyRows, scope: ExperimentScope) -> str:
    """The gap by seed, and the time of a greedy pass."""
    measure = to_the_search(rows, scope)
    means = []
    for seed in sorted({row.seed for row in rows.proposed}):
        pairs = [
            (row.graph, row.greedy_us, measure[row.graph, row.cluster]) for row in rows.proposed if row.seed == seed
        ]
        means.append(_gaps("", pairs).mean)
    slowest = max(row.greedy_seconds for row in rows.proposed)
    return (
        f"- {name}: greedy pass by seed {min(means):+.1%} to {max(means):+.1%}; a pass takes "
        f"{fmean(row.greedy_seconds for row in rows.proposed):.3f} s on average, at most {slowest:.3f} s."
    )
