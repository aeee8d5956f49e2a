"""The benchmark's plots: performance profiles by size and by kind, and what few evaluations give."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.benchmark.profiles import Points

MOST_ACROSS = 3
WIDEST = 3.0
"""factor of the best method at the right edge"""
COLORS = 10
"""of the cycle; later lines are dashed, then dotted"""
LEGEND_WIDTH, LEAST_HEIGHT = 2.2, 5.2
"""inches"""
PERCENTS = (0, 0.5, 1, 3, 10, 30, 100)
"""at the ticks of gaps"""
STYLES = ("-", "--", ":", "-.")


def draw_profiles(panels: Mapping[str, Mapping[str, Points]], path: Path) -> None:
    """A panel for each stratum, a line for each method: the share of problems within a factor of the best method."""
    pyplot = _pyplot()
    across, down = min(len(panels), MOST_ACROSS), -(-len(panels) // MOST_ACROSS)
    figure, axes = pyplot.subplots(
        down,
        across,
        figsize=(4.2 * across + LEGEND_WIDTH, max(LEAST_HEIGHT, 3.6 * down)),
        layout="constrained",
        squeeze=False,
    )
    for unused in axes.flat[len(panels) :]:
        unused.remove()
    lines = list(dict.fromkeys(method for of_panel in panels.values() for method in of_panel))
    for panel, (name, of_panel) in zip(axes.flat, panels.items(), strict=False):
        for method, points in of_panel.items():
            factors, shares = [1.0, *(factor for factor, _ in points)], [0.0, *(share for _, share in points)]
            ends = [*factors, WIDEST], [*shares, shares[-1]]
            panel.step(*ends, where="post", label=method, **_look(lines.index(method)))
        panel.set(title=name, xscale="log", xlim=(1, WIDEST), ylim=(0, 1.01), xlabel="factor of the best method")
        panel.set_xticks([1, 1.1, 1.25, 1.5, 2, 3], labels=["1", "1.1", "1.25", "1.5", "2", "3"])
        panel.minorticks_off()
    for first in axes[:, 0]:
        first.set(ylabel="share of problems")
    handles: dict[str, Any] = {}
    for panel in axes.flat[: len(panels)]:
        handles |= dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), fontsize="small", loc="outside right upper")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_few(gaps: Mapping[str, Sequence[float | None]], marks: Sequence[int], path: Path) -> None:
    """A line for each method: the mean gap to the best known after so many evaluations."""
    pyplot = _pyplot()
    figure, panel = pyplot.subplots(figsize=(6.5 + LEGEND_WIDTH, LEAST_HEIGHT), layout="constrained")
    for number, (method, means) in enumerate(gaps.items()):
        known = [(mark, 100 * mean) for mark, mean in zip(marks, means, strict=True) if mean is not None]
        if known:
            panel.plot(*zip(*known, strict=True), marker=".", label=method, **_look(number))
    panel.set(xscale="log", xlabel="evaluations", ylabel="mean gap to the best known, %")
    panel.set_yscale("symlog", linthresh=1.0)
    panel.set_ylim(bottom=0)
    panel.set_yticks(PERCENTS, labels=[f"{percent:g}" for percent in PERCENTS])
    panel.set_xticks(list(marks), labels=[str(mark) for mark in marks])
    panel.minorticks_off()
    if gaps:
        figure.legend(fontsize="small", loc="outside right upper")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _look(number: int) -> dict[str, Any]:
    return {"color": f"C{number % COLORS}", "linestyle": STYLES[number // COLORS % len(STYLES)], "linewidth": 1.2}


def _pyplot() -> Any:
    import matplotlib as mpl  # imported here, since a server never draws

    mpl.use("Agg")
    from matplotlib import pyplot

    return pyplot
