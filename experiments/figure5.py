"""Figure 5: policies on unseen graphs, zero-shot and optimised, beside the RNN, random placements and searches.

`python -m experiments figure5` writes docs/results/figure5.{md,json,png}: for each family, the step times of its test
graphs as shares of one device. Placeto's published network is trained on the family (the trainings of `ablations`),
then on single test graphs; the RNN has as many seconds of the processor. Results are kept in docs/results/kept, states
and weights in .cache/published, so a second call continues. `--set` makes it smaller.
Source: Addanki et al., NeurIPS 2019, section 4, Figure 5.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from engine import VERSION
from engine.events import Json
from experiments.grid import KeptResults, Measurement, measure_cells
from experiments.keeping.statistics import mean_over
from experiments.pages import ReportLine, table_of_figures, write_page, write_rows
from experiments.policies.problems import prepare_families
from experiments.published.beside import beside_key
from experiments.published.optimising import optimised_key, rnn_key, rnn_optimised_key
from experiments.published.scope import PublishedScope, make_published_scope
from experiments.published.trainings import (
    NETWORK,
    PUBLISHED,
    TRAIN,
    TrainingOrder,
    order_of,
    require_weights,
    train_missing,
)

COMMAND = "python -m experiments figure5"
OPTIMISING = "experiments.published.optimising"
LineShares: TypeAlias = dict[str, dict[int, list[float | None]]]
"""line → number of the test graph → its shares of one device, one for each seed"""
LINES = {
    "placeto": "Placeto, zero-shot",
    "placeto_optimised": "Placeto, optimised, greedy pass",
    "placeto_best": "Placeto, optimised, best episode",
    "rnn": "RNN, zero-shot",
    "rnn_optimised": "RNN, optimised, most probable",
    "rnn_best": "RNN, optimised, best drawn",
    "random": "random, one draw",
    "untrained": "untrained policy, greedy pass",
    "start": "start of the episodes",
    "heft": "HEFT",
    "auto": "auto",
}


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Measure what is missing, write `folder`/figure5.{md,json,png}, and return the page."""
    scope = make_published_scope(settings or {})
    prepare_families(scope.of_policies(), scope.family_names, report)
    kept = KeptResults(folder / "kept" / "published.jsonl")
    orders = {f"{order.family}, {NETWORK}, seed {order.seed}": order for order in trainings(scope)}
    train_missing(kept, orders, scope.processes, report)

    def measure(function: str, keys: Mapping[str, Measurement]) -> None:
        measure_cells(kept, function, keys, scope.processes, report)

    optimised = _by_name(scope, "optimised", lambda order, graph: optimised_key(order, graph, scope.optimised_episodes))
    if any(key not in kept for key in optimised.values()):
        require_weights(TRAIN, {name: order.key() for name, order in orders.items()}, scope.processes, report)
    measure(f"{OPTIMISING}:optimise_in_child", optimised)
    rnn = {f"{name}, RNN": rnn_key(order, seconds_of(kept, order)) for name, order in orders.items()}
    measure(f"{OPTIMISING}:rnn_in_child", rnn)
    rnn_optimised = _by_name(scope, "RNN optimised", lambda order, graph: _rnn_optimised(kept, scope, order, graph))
    if any(key not in kept for key in rnn_optimised.values()):
        require_weights(f"{OPTIMISING}:rnn_in_child", rnn, scope.processes, report)
    measure(f"{OPTIMISING}:optimise_rnn_in_child", rnn_optimised)
    beside = {
        f"{family}, test graph {graph}, others": _beside(scope, family, graph)
        for family in scope.family_names
        for graph in range(scope.graphs)
    }
    measure("experiments.published.beside:beside_in_child", beside)
    keys = [*(order.key() for order in orders.values()), *optimised.values(), *rnn.values(), *rnn_optimised.values()]
    found = {family: shares_of_family(kept, scope, family) for family in scope.family_names}
    write_rows(folder, "figure5", found)
    draw(found, folder / "figure5.png")
    return write_page(folder, "figure5", page(found, scope, kept.made([*keys, *beside.values()]), counts(kept, scope)))


def trainings(scope: PublishedScope) -> list[TrainingOrder]:
    """The trainings of the published network, those of `ablations`."""
    return [
        order_of(scope, family, seed, {"network": NETWORK})
        for seed in range(scope.seeds)
        for family in scope.family_names
    ]


def seconds_of(kept: KeptResults, order: TrainingOrder) -> float:
    """The seconds of the processor that a training took."""
    return float(kept[order.key()][-1]["seconds"])


def _by_name(
    scope: PublishedScope, words: str, key: Callable[[TrainingOrder, int], Measurement]
) -> dict[str, Measurement]:
    return {
        f"{order.family}, seed {order.seed}, test graph {graph}, {words}": key(order, graph)
        for order in trainings(scope)
        for graph in range(min(scope.optimised_graphs, scope.graphs))
    }


def _rnn_optimised(kept: KeptResults, scope: PublishedScope, order: TrainingOrder, graph: int) -> Measurement:
    on_graph = kept[optimised_key(order, graph, scope.optimised_episodes)]["seconds"]
    return rnn_optimised_key(order, seconds_of(kept, order), graph, on_graph)


def _beside(scope: PublishedScope, family: str, graph: int) -> Measurement:
    return beside_key(order_of(scope, family, 0, {"network": NETWORK}), graph, scope.seeds, scope.auto_evaluations)


def shares_of_family(kept: KeptResults, scope: PublishedScope, family: str) -> LineShares:
    """All lines on the test graphs of a family."""
    found: LineShares = {line: {} for line in LINES}
    for order in (each for each in trainings(scope) if each.family == family):
        seconds = seconds_of(kept, order)
        for graph in range(scope.graphs):
            of_seed: dict[str, Any] = {
                "placeto": kept[order.key()][-1]["greedy"][graph],
                "rnn": kept[rnn_key(order, seconds)]["greedy"][graph],
            }
            if graph < scope.optimised_graphs:
                placeto = kept[optimised_key(order, graph, scope.optimised_episodes)]
                rnn = kept[_rnn_optimised(kept, scope, order, graph)]
                of_seed |= {"placeto_optimised": placeto["greedy"], "placeto_best": placeto["best"]}
                of_seed |= {"rnn_optimised": rnn["greedy"], "rnn_best": rnn["best"]}
            for line, share in of_seed.items():
                found[line].setdefault(graph, []).append(share)
    for graph in range(scope.graphs):
        for line, shares in kept[_beside(scope, family, graph)].items():
            found[line][graph] = shares
    return found


def counts(kept: KeptResults, scope: PublishedScope) -> str:
    """What the trainings took, in words."""
    made = [kept[order.key()][-1] for order in trainings(scope)]
    graphs = range(min(scope.optimised_graphs, scope.graphs))
    episodes = scope.optimised_episodes
    continued = [kept[optimised_key(order, graph, episodes)] for order in trainings(scope) for graph in graphs]
    return f"A training on a family took {_counts(made)}; one continued on a graph {_counts(continued)}."


def _counts(rows: Sequence[Mapping[str, Any]]) -> str:
    updates, evaluations, seconds = (
        sum(row[name] for row in rows) / len(rows) for name in ("updates", "evaluations", "seconds")
    )
    return f"{updates:,.0f} updates, {evaluations:,.0f} evaluations and {seconds:,.0f} s of the processor on average"


def page(found: Mapping[str, LineShares], scope: PublishedScope, made: str, took: str) -> str:
    """The whole page."""
    given = ", ".join(f"{name}={value}" for name, value in PUBLISHED.items())
    head = ["", *(f"{family}, {of}" for family in found for of in ("first graphs", "all graphs"))]
    first = range(min(scope.optimised_graphs, scope.graphs))
    rows = []
    for line, words in LINES.items():
        label = f"{words}, {scope.auto_evaluations:,} evaluations" if line == "auto" else words
        cells = [
            _cell([of[line][graph] for graph in graphs if graph in of[line]], whole=len(graphs))
            for of in found.values()
            for graphs in (first, range(scope.graphs))
        ]
        rows.append([label, *cells])
    return "\n".join(
        [
            "# Figure 5: unseen graphs",
            "",
            f"`{COMMAND}`; Placeto Explorer {VERSION}; {made}; {scope.words()}; {scope.optimised_episodes:,} more",
            f"episodes on each of the first {len(first)} test graphs. Settings: {given}.",
            f"{took} The RNN had the same seconds.",
            "",
            "Step times as shares of one device, the mean over graphs and seeds with a 95 % bootstrap interval over",
            "the graphs; the first graphs are those that were trained on for the optimised lines. A greedy pass takes",
            "the most probable device for each group. The shares of all graphs and seeds: [figure5.png](figure5.png).",
            "",
            *table_of_figures(head, rows),
            "",
        ]
    )


def _cell(graphs: Sequence[Sequence[float | None]], whole: int) -> str:
    """The mean of the shares that fit; empty for a line that has not been measured on all of the graphs."""
    if len(graphs) < whole:
        return ""
    units = [[share for share in shares if share is not None] for shares in graphs]
    fitting = [shares for shares in units if shares]
    missing = sum(len(shares) for shares in graphs) - sum(len(shares) for shares in units)
    if not fitting:
        return "none fits"
    mean = mean_over(fitting)
    return f"{mean.mean:.3f} ({mean.low:.3f} to {mean.high:.3f})" + (f", {missing} without" if missing else "")


def draw(found: Mapping[str, LineShares], path: Path) -> None:
    """A panel for each family: for each line the share of its graphs and seeds that stay below a step time."""
    import matplotlib as mpl  # imported here, since a server never draws

    mpl.use("Agg")
    from matplotlib import pyplot

    size = (5 * len(found), 4.5)
    figure, axes = pyplot.subplots(1, len(found), figsize=size, layout="constrained", squeeze=False)
    for panel, (family, of) in zip(axes[0], found.items(), strict=True):
        for number, (line, words) in enumerate(LINES.items()):
            shares = [share for graph in of[line].values() for share in graph]
            fitting = sorted(share for share in shares if share is not None)
            heights = [(index + 1) / len(shares) for index in range(len(fitting))]
            panel.step(fitting, heights, "-" if number < 6 else "--", where="post", label=words)
        panel.set(title=family, xlabel="step time, share of one device", ylim=(0, 1))
        panel.axvline(1.0, color="grey", linewidth=0.5)
    axes[0][0].set(ylabel="share of graphs and seeds")
    figure.legend(*axes[0][0].get_legend_handles_labels(), fontsize="small", loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
