"""The figure of a comparison: best step time against evaluations, with a line and a band over seeds a method."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.comparing.summary import MethodSummary, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAR = 2.5
"""the figure ends at this multiple of the best time: beyond it the curves below would look flat"""
SUFFIXES = (".svg", ".png")


def draw(summaries: Sequence[MethodSummary], title: str, one_device_us: float | None, folder: Path, name: str) -> None:
    """Write `folder`/`name`.svg and .png."""
    import matplotlib as mpl  # imported here, since a server never draws

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "placeto"  # equal figures give equal files
    from matplotlib import pyplot

    divisor, unit = unit_of(summaries)
    quantity = "step time" if all(summary.batch is None for summary in summaries) else "period"
    figure, axes = pyplot.subplots(figsize=(10, 5), layout="constrained")
    for index, summary in enumerate(summaries):
        band, color = summary.band, f"C{index % 10}"
        style = "-" if index < 10 else "--"
        if not band.evaluations:
            continue
        low, high = ([value / divisor for value in values] for values in (band.low_us, band.high_us))
        axes.fill_between(band.evaluations, low, high, step="post", alpha=0.18, color=color, linewidth=0)
        middle = [value / divisor for value in band.median_us]
        marker = "o" if len(band.evaluations) == 1 else ""
        label = f"{summary.label} {middle[-1]:.4g} {unit}"
        axes.plot(band.evaluations, middle, style, drawstyle="steps-post", marker=marker, color=color, label=label)
    if one_device_us is not None:
        axes.axhline(one_device_us / divisor, color="black", linestyle=":", label="one device")
    _bound(axes, [value / divisor for summary in summaries for value in (*summary.band.low_us, *summary.band.high_us)])
    axes.set(xlabel="evaluations", ylabel=f"best {quantity} ({unit})", xscale="log")
    axes.set_title(title, parse_math=False)  # a graph's name may be any text, even one that looks like a formula
    axes.grid(alpha=0.25)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    for suffix in SUFFIXES:
        metadata = {"Date": None} if suffix == ".svg" else None
        figure.savefig(folder / f"{name}{suffix}", dpi=110, metadata=metadata)
    pyplot.close(figure)


def _bound(axes: "Axes", times: Sequence[float]) -> None:
    """Limit the y axis to times within `FAR` times the best."""
    if times and max(times) > FAR * min(times):
        near = max(time for time in times if time <= FAR * min(times))
        margin = 0.07 * (near - min(times)) or 0.05 * near
        axes.set_ylim(min(times) - margin, near + margin)
