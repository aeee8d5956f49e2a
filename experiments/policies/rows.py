"""The cells of the experiments with policies: what is trained and measured, and the rows of their pages."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from engine.events import Json
from experiments.grid import KeptResults
from experiments.pages import ReportLine, write_page, write_rows
from experiments.policies.held_out import family_and_seed
from experiments.policies.making import make_policies
from experiments.policies.measuring import Compared, PolicyCell, Proposed, measure, proposed_of
from experiments.policies.page import PolicyRows, gaps, to_the_search
from experiments.policies.problems import held_out_names
from experiments.policies.rnn import RnnCell, measure_rnns
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


def kept_rows(folder: Path) -> KeptResults:
    """The rows of all experiments with policies."""
    return KeptResults(folder / "kept" / "policies.jsonl")


def carry_out(
    kept: KeptResults,
    scope: ExperimentScope,
    settings: dict[str, Json],
    tested: Mapping[str, list[Families]],
    report: ReportLine,
    *,
    with_rnn: bool = False,
) -> None:
    """Train what has no file, and measure what `kept` lacks: on each set of `tested`, the policies of its families."""
    make_policies(scope, settings, list(dict.fromkeys(families for of in tested.values() for families in of)), report)
    if with_rnn:
        measure_rnns(kept, scope, settings, dict.fromkeys(family_and_seed(name)[0] for name in tested), report)
    cells = [cell for name, every in tested.items() for cell in cells_of(scope, name, every)]
    measure(kept, scope, settings, sorted(cells, key=lambda cell: cell.number), report)


def cells_of(scope: ExperimentScope, name: str, every: Iterable[Families]) -> Iterator[PolicyCell]:
    """What is measured on the set `name` for the policies trained on each of `every`: a graph after the other."""
    trained = list(every)
    for index, graph in enumerate(held_out_names(scope, name)):
        for cluster in scope.cluster_names:
            yield PolicyCell(name, index, graph, cluster)
            for families in trained:
                for seed in range(scope.seeds):
                    yield PolicyCell(name, index, graph, cluster, families, seed)


def rows_of(
    kept: KeptResults, scope: ExperimentScope, name: str, trained_on: Families, *, with_rnn: bool = False
) -> PolicyRows:
    """All rows of the held-out graphs of the set `name` for the policies trained on `trained_on`."""
    compared: list[Compared] = []
    proposed: list[Proposed] = []
    for cell in cells_of(scope, name, [trained_on]):
        row = kept[cell.key(scope)]
        if cell.families:
            proposed.append(proposed_of(row))
            continue
        compared.append(Compared(**{**row, "reached": dict(row["reached"])}))
        if with_rnn:
            rnn = RnnCell(family_and_seed(name)[0], cell.graph, cell.cluster)
            compared[-1].reached["rnn"] = kept[rnn.key(scope)]
    return PolicyRows(compared, proposed)


def written(folder: Path, name: str, text: str, rows: Mapping[str, PolicyRows], scope: ExperimentScope) -> str:
    """Write the page, its rows and its picture; returns the page."""
    write_rows(folder, name, {of: asdict(found) for of, found in rows.items()})
    draw_shares(rows, scope, folder / f"{name}.png")
    return write_page(folder, name, text)
