"""How often an answer is within a share of the search's: distributions as in the paper's Figure 5."""

from collections.abc import Mapping
from pathlib import Path

from experiments.policies.page import PolicyRows, gaps
from experiments.policies.scope import Scope

NARROWEST, WIDEST = -0.15, 1.5
"""gaps at the edges"""
COLORS = 10
"""of the cycle; the lines after these are dashed"""


def draw_shares(rows: Mapping[str, PolicyRows], scope: Scope, path: Path) -> None:
    """One picture a row of the table: the share of graphs on which a method is no further behind."""
    import matplotlib as mpl  # here, since a server never draws

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(rows), figsize=(5 * len(rows), 4.5), layout="constrained", squeeze=False)
    for place, (name, of) in enumerate(rows.items()):
        own = axes[0][place]
        for index_of_line, each in enumerate(gaps(of, scope)):
            count = len(each.values) + each.missing
            shares = [(index + 1) / count for index in range(len(each.values))]
            style = "-" if index_of_line < COLORS else "--"
            own.step(sorted(each.values), shares, style, where="post", label=each.label)
        own.set(
            title=name, xlabel=f"gap to {scope.search_seconds:g} s of search", xlim=(NARROWEST, WIDEST), ylim=(0, 1)
        )
        own.axvline(0.0, color="grey", linewidth=0.5)
    axes[0][0].set(ylabel="share of graphs and clusters")
    figure.legend(*axes[0][0].get_legend_handles_labels(), fontsize="small", loc="outside lower center", ncols=6)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
