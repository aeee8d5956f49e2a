"""Placeto's learning curve on one zoo graph over several seeds, beside its baselines: table, picture, raw figures.

`python -m experiments learning_curve` writes docs/results/; every figure in it comes from here.
"""

import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from engine import VERSION, api
from engine.bench.problems import CLUSTER, GRAPH, prepared_graph
from engine.events import Baseline, Episode
from experiments.pages import ReportLine, table_line, write_page, write_rows

SEEDS = (0, 1, 2, 3, 4)
EVALUATIONS = 2000
PART = 10
"""the first and the last tenth of the episodes are compared"""


@dataclass(frozen=True, slots=True)
class Curve:
    """The results of one seed. Times in µs; `step_time_us` and `best_step_time_us` are [episodes]."""

    seed: int
    step_time_us: list[float]
    best_step_time_us: list[float]
    evaluations: list[int]
    answer_us: float
    one_device_us: float
    random_best_us: float
    random_mean_us: float
    first_mean_us: float
    last_mean_us: float
    lower_bound_us: float
    wall_seconds: float

    @property
    def holds(self) -> bool:
        """Whether the answer beats one device and random's best, and the curve falls."""
        ahead = self.answer_us < min(self.one_device_us, self.random_best_us)
        return ahead and self.last_mean_us < self.first_mean_us


def run(folder: Path, report: ReportLine) -> str:
    """Train once a seed, write `folder`/learning_curve.{json,md,png}, and return the table."""
    prepared = prepared_graph(report)
    curves = []
    for seed in SEEDS:
        curves.append(_curve(prepared, seed))
        report(_row(curves[-1]))
    write_rows(folder, "learning_curve", _raw(curves))
    _draw(curves, folder / "learning_curve.png")
    return write_page(folder, "learning_curve", _table(prepared, curves))


def _curve(prepared: api.PreparedGraph, seed: int) -> Curve:
    episodes: list[Episode] = []
    baselines: dict[str, Baseline] = {}

    def note(item: api.Emitted) -> None:
        event = item.event if isinstance(item, api.NumberedEvent) else None
        if isinstance(event, Episode):
            episodes.append(event)
        elif isinstance(event, Baseline):
            baselines[event.method] = event

    request = api.RunRequest(api.parse_cluster(CLUSTER), "placeto", api.Budget(EVALUATIONS), seed)
    report = api.place(prepared, request, note, lambda: False)
    times_us = [episode.step_time_us for episode in episodes]
    part = max(1, len(times_us) // PART)
    return Curve(
        seed=seed,
        step_time_us=times_us,
        best_step_time_us=[_known(episode.best_step_time_us) for episode in episodes],
        evaluations=[episode.evaluations for episode in episodes],
        answer_us=_number(report["step_time_us"]),
        one_device_us=_known(baselines["single_device"].step_time_us),
        random_best_us=_known(baselines["random"].step_time_us),
        random_mean_us=_known(baselines["random"].mean_step_time_us),
        first_mean_us=fmean(times_us[:part]),
        last_mean_us=fmean(times_us[-part:]),
        lower_bound_us=_number(report["lower_bound_us"]),
        wall_seconds=_number(report["wall_seconds"]),
    )


def _known(value: float | None) -> float:
    assert value is not None, "the zoo's graph fits the cluster"
    return value


def _number(value: api.Json) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _table(prepared: api.PreparedGraph, curves: list[Curve]) -> str:
    head = [
        f"{GRAPH}: {prepared.graph.op_count} ops, {prepared.grouping.group_count} groups; {CLUSTER}; Placeto, default "
        f"preset, {EVALUATIONS} evaluations a seed; Placeto Explorer {VERSION}, {platform.machine()}.",
        "Step times in seconds, estimated costs, simulated. Random has the same evaluations. "
        f"First and last: the mean of the first and of the last 1/{PART} of the episodes.",
        "",
        "| seed | one device | random mean | random best | first | last | Placeto | of one device | wall s | holds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(_row(curve) for curve in curves), ""])


def _row(curve: Curve) -> str:
    times = [
        curve.one_device_us,
        curve.random_mean_us,
        curve.random_best_us,
        curve.first_mean_us,
        curve.last_mean_us,
        curve.answer_us,
    ]
    cells = [f"{time / 1e6:.4f}" for time in times]
    cells += [
        f"{curve.answer_us / curve.one_device_us:.3f}",
        f"{curve.wall_seconds:.0f}",
        "yes" if curve.holds else "NO",
    ]
    return table_line([str(curve.seed), *cells])


def _raw(curves: list[Curve]) -> api.Json:
    rows: list[api.Json] = []
    for curve in curves:
        fields = asdict(curve)
        del fields["best_step_time_us"]  # it follows from the episodes
        rows.append(fields | {"step_time_us": [round(time) for time in curve.step_time_us]})
    return {"graph": GRAPH, "cluster": CLUSTER, "evaluations": EVALUATIONS, "version": VERSION, "curves": rows}


def _draw(curves: list[Curve], path: Path) -> None:
    import matplotlib as mpl  # imported here, since a server never draws

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    for curve in curves:
        color = f"C{curve.seed}"
        seconds = [time / 1e6 for time in curve.step_time_us]
        axes.plot(curve.evaluations, seconds, ".", markersize=2, alpha=0.35, color=color)
        best = [time / 1e6 for time in curve.best_step_time_us]
        axes.plot(curve.evaluations, best, color=color, label=f"best so far, seed {curve.seed}")
    axes.axhline(curves[0].one_device_us / 1e6, color="black", linestyle="--", label="one device")
    random_best = min(curve.random_best_us for curve in curves) / 1e6
    axes.axhline(random_best, color="grey", linestyle=":", label="random, best of all seeds")
    axes.set(xlabel="evaluations", ylabel="step time (s)", title=f"Placeto on {GRAPH}, {CLUSTER}: every episode")
    axes.legend(loc="upper right", fontsize="small")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
