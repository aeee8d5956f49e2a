"""Trains and measures the policies of an experiment in several children at once, and writes the rows and the page."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from engine.events import Json
from experiments.pages import ReportLine, write_page, write_rows
from experiments.policies.held_out import family_and_seed
from experiments.policies.making import make_policy
from experiments.policies.measuring import (
    Compared,
    Proposed,
    compared_path,
    measure,
    proposed_path,
    read_compared,
    read_proposed,
)
from experiments.policies.page import PolicyRows, gaps, to_the_search
from experiments.policies.problems import held_out_names
from experiments.policies.rnn import measure_rnn, read_rnn
from experiments.policies.scope import ExperimentScope

NARROWEST, WIDEST = -0.15, 1.5
"""gaps at the edges"""
COLORS = 10
"""of the cycle; the lines after these are dashed"""


MOST_ACROSS = 4
"""pictures beside each other"""


def draw_shares(rows: Mapping[str, PolicyRows], scope: ExperimentScope, path: Path) -> None:
    """One picture for each row of the table: the share of graphs on which a method stays within a gap."""
    import matplotlib as mpl  # imported here, since a server never draws

    mpl.use("Agg")
    from matplotlib import pyplot

    across, down = min(len(rows), MOST_ACROSS), -(-len(rows) // MOST_ACROSS)
    figure, axes = pyplot.subplots(
        down, across, figsize=(4.2 * across, 3.8 * down + 0.4), layout="constrained", squeeze=False
    )
    for unused in axes.flat[len(rows) :]:
        unused.remove()
    for panel, (name, of) in zip(axes.flat, rows.items(), strict=False):
        for index_of_line, each in enumerate(gaps(of, scope, to_the_search(of, scope))):
            count = len(each.values) + each.missing
            shares = [(index + 1) / count for index in range(len(each.values))]
            style = "-" if index_of_line < COLORS else "--"
            panel.step(sorted(each.values), shares, style, where="post", label=each.label)
        panel.set(
            title=name, xlabel=f"gap to {scope.search_seconds:g} s of search", xlim=(NARROWEST, WIDEST), ylim=(0, 1)
        )
        panel.axvline(0.0, color="grey", linewidth=0.5)
    for first in axes[:, 0]:
        first.set(ylabel="share of graphs and clusters")
    figure.legend(*axes[0][0].get_legend_handles_labels(), fontsize="small", loc="outside lower center", ncols=6)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


Families = tuple[str, ...]
"""the training families of a policy"""


def carry_out(
    scope: ExperimentScope,
    settings: dict[str, Json],
    tested: Mapping[str, list[Families]],
    report: ReportLine,
    *,
    with_rnn: bool = False,
) -> None:
    """Train and measure what the work folder lacks: on each set of `tested`, the policies of its training families.

    All work is one queue, so that no process waits while another trains; measurements come after the trainings.
    """
    graphs = {family: held_out_names(scope, family) for family in tested}
    every = list(dict.fromkeys(families for of in tested.values() for families in of))
    most = max(len(names) for names in graphs.values())

    def make(families: Families, seed: int) -> None:
        make_policy(scope, settings, families, seed)
        report(f"trained on {' and '.join(families)}, seed {seed}")

    def train_rnn(family: str, cluster: str) -> None:
        measure_rnn(scope, settings, family, cluster)
        report(f"the RNN on {family}, {cluster}")

    def measure_graph(family: str, index: int) -> None:
        for families in tested[family]:
            for seed in range(scope.seeds):
                made[families, seed].result()
        measure(settings, family, index, tested[family])
        report(f"measured on {graphs[family][index]}")

    with ThreadPoolExecutor(scope.processes) as pool:
        made = {
            (families, seed): pool.submit(make, families, seed) for seed in range(scope.seeds) for families in every
        }
        learned = dict.fromkeys(family_and_seed(name)[0] for name in tested)
        others = [
            pool.submit(train_rnn, family, cluster) for family in learned for cluster in scope.cluster_names if with_rnn
        ]
        measurements = [
            pool.submit(measure_graph, family, index)
            for index in range(most)
            for family in tested
            if index < len(graphs[family])
        ]
        for future in (*made.values(), *others, *measurements):
            future.result()


def rows_of(scope: ExperimentScope, family: str, trained_on: Families, *, with_rnn: bool = False) -> PolicyRows:
    """All rows of the held-out graphs of `family` for the policies trained on `trained_on`."""
    compared: list[Compared] = []
    proposed: list[Proposed] = []
    for graph in held_out_names(scope, family):
        for cluster in scope.cluster_names:
            row = read_compared(compared_path(scope, graph, cluster))
            if with_rnn:
                row.reached["rnn"] = read_rnn(scope, graph, cluster)
            compared.append(row)
            paths = [proposed_path(scope, graph, cluster, trained_on, seed) for seed in range(scope.seeds)]
            proposed += [read_proposed(path) for path in paths]
    return PolicyRows(compared, proposed)


def written(folder: Path, name: str, text: str, rows: Mapping[str, PolicyRows], scope: ExperimentScope) -> str:
    """Write the page, its rows and its picture; returns the page."""
    write_rows(folder, name, {of: asdict(found) for of, found in rows.items()})
    draw_shares(rows, scope, folder / f"{name}.png")
    return write_page(folder, name, text)
