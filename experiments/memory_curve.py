"""Placeto on graphs that no single device can hold: the fullest device's peak over the episodes of a training.

`python -m experiments memory_curve` writes memory_curve.{md,png} into docs/results/ and keeps each training in
docs/results/kept/memory_curve.jsonl, so a second call continues. The graphs are the zoo's NMT models with the batch of
k80_measured.py, with which one K80 and the expert are out of memory. Every training begins with all ops on one device.
A frozen network is the control. Source of what is shown: Addanki et al., NeurIPS 2019, whose policy learns to stay
within the memory through a penalty on the step time.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from engine import VERSION, api
from engine.errors import InfeasibleError
from experiments.grid import KeptResults, Measurement, measure_cells_here
from experiments.k80_measured import KIND, NMT_BATCH, NMT_GPUS
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.problems import problem_on
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments memory_curve"
SEEDS = (0, 1, 2)
SLICES = 20
"""points of a curve: each the mean over as large a part of the episodes"""
CAP = 100.0
"""`penalised_cap` of the preset `paper` here: the published 10 s are less than a step of these graphs"""
GIGABYTE = 1e9


@dataclass(frozen=True, slots=True)
class MemoryVariant:
    """A line of the table."""

    label: str
    evaluations: int
    settings: Mapping[str, api.Json]


VARIANTS = (
    MemoryVariant("fast", 2000, {}),
    MemoryVariant("fast, frozen", 2000, {"frozen": True}),
    MemoryVariant("paper", 20_000, {"preset": "paper", "penalised_cap": CAP}),
    MemoryVariant("paper, frozen", 20_000, {"preset": "paper", "penalised_cap": CAP, "frozen": True}),
)
VARIANT_OF = {variant.label: variant for variant in VARIANTS}


@dataclass(frozen=True, slots=True)
class LearnedMemory:
    """One training; lists are [slices]."""

    episodes: int
    seconds: list[float]
    """mean step time at the end of an episode"""
    fullest_bytes: list[float]
    """mean peak of the fullest device there"""
    fit: list[float]
    """share of the episodes whose end fits"""
    best_seconds: float | None
    """the best of the ends that fit"""


def run(folder: Path, report: ReportLine) -> str:
    """Train where a result is missing, write `folder`/memory_curve.{md,png}, and return the page."""
    kept = KeptResults(folder / "kept" / "memory_curve.jsonl")
    cells = {each: each.key() for each in (MemoryTraining(*of) for of in product(NMT_GPUS, VARIANT_OF, SEEDS))}
    prepared = cache(partial(prepared_zoo_graph, report=report, settings={"batch": NMT_BATCH}))

    def train(turn: MemoryTraining) -> dict[str, api.Json]:
        return asdict(memory_curve(prepared(turn.graph), _cluster(turn.graph), VARIANT_OF[turn.label], turn.seed))

    found: dict[tuple[str, str], list[LearnedMemory]] = {}
    for turn, row in measure_cells_here(kept, cells, train, report).items():
        found.setdefault((turn.graph, turn.label), []).append(LearnedMemory(**row))
    _draw(found, folder / "memory_curve.png")
    return write_page(folder, "memory_curve", _page(found, kept.made(cells.values())))


def _cluster(graph: str) -> str:
    return f"{NMT_GPUS[graph]}x{KIND}"


class MemoryTraining(NamedTuple):
    """A training of a variant on a graph."""

    graph: str
    label: str
    """of the variant"""
    seed: int

    def __str__(self) -> str:
        return f"{self.graph}, {self.label}, seed {self.seed}"

    def key(self) -> Measurement:
        """What its result depends on."""
        variant = VARIANT_OF[self.label]
        settings: api.Json = dict(variant.settings)
        return {
            "graph": self.graph,
            "batch": NMT_BATCH,
            "cluster": _cluster(self.graph),
            "settings": settings,
            "evaluations": variant.evaluations,
            "seed": self.seed,
        }


def memory_curve(prepared: api.PreparedGraph, cluster: str, variant: MemoryVariant, seed: int) -> LearnedMemory:
    """Train once; the ends of the episodes are simulated again for their peaks."""
    ends: list[list[int]] = []

    def note(item: api.Emitted) -> None:
        if isinstance(item, api.NumberedEvent) and isinstance(item.event, api.Episode):
            ends.append(item.event.placement)

    budget = api.Budget(variant.evaluations)
    request = api.RunRequest(api.parse_cluster(cluster), "placeto", budget, seed, settings=dict(variant.settings))
    with suppress(InfeasibleError):  # the curve shows it
        api.place(prepared, request, note, lambda: False)
    problem = problem_on(prepared, cluster)
    placements = np.array(ends, dtype=np.int32)
    evaluations = problem.simulator.evaluate(placements)
    fit, fullest = problem.feasible(evaluations), evaluations.peak_bytes.max(axis=1)
    parts = [part for part in np.array_split(np.arange(len(ends)), SLICES) if len(part)]
    return LearnedMemory(
        episodes=len(ends),
        seconds=[float(evaluations.step_time_us[part].mean() / 1e6) for part in parts],
        fullest_bytes=[float(fullest[part].mean()) for part in parts],
        fit=[float(fit[part].mean()) for part in parts],
        best_seconds=float(evaluations.step_time_us[fit].min() / 1e6) if fit.any() else None,
    )


def _page(found: Mapping[tuple[str, str], Sequence[LearnedMemory]], made: str) -> str:
    limit = api.parse_cluster(_cluster(next(iter(NMT_GPUS)))).devices[0].memory_bytes / GIGABYTE
    head = (
        "graph",
        "GPUs",
        "variant",
        "episodes",
        "fullest, first",
        "last",
        "fit, first",
        "last",
        "step, last",
        "best",
    )
    lines = []
    for (graph, label), curves in found.items():
        best = [curve.best_seconds for curve in curves if curve.best_seconds is not None]
        lines.append(
            (
                graph,
                str(NMT_GPUS[graph]),
                label,
                f"{fmean(curve.episodes for curve in curves):,.0f}",
                *(f"{fmean(curve.fullest_bytes[at] for curve in curves) / GIGABYTE:.1f} GB" for at in (0, -1)),
                *(f"{fmean(curve.fit[at] for curve in curves):.0%}" for at in (0, -1)),
                f"{fmean(curve.seconds[-1] for curve in curves):.2f} s",
                f"{fmean(best):.2f} s" + f", {len(best)} of {len(curves)}" * (len(best) < len(curves)) if best else "–",
            )
        )
    table = "\n".join(table_of_figures(head, lines))
    return f"""# Learning to keep within the memory

`{COMMAND}`; Placeto Explorer {VERSION}, {made}; NMT with a batch of {NMT_BATCH:,}, the kind {KIND} with {limit:.1f} GB
a device ([k80_measured.md](k80_measured.md)), 128 groups, seeds {SEEDS[0]} to {SEEDS[-1]}.

Every training begins on one device, which lacks memory. "First" and "last" are the first and last of {SLICES} equal
parts of the episodes: the mean peak of the fullest device at an episode's end, the share of these ends that fit, and
the mean step there. "Best" is the best of the ends that fit. {_evaluations()}. There the penalised step time has a cap
of {CAP:g} s instead of 10, which is less than a step of these graphs.

{table}

![Peak of the fullest device over the episodes of a training](memory_curve.png)
"""


def _evaluations() -> str:
    of_preset = {variant.label.split(",")[0]: variant.evaluations for variant in VARIANTS}
    return "; ".join(f"`{preset}` has {evaluations:,} evaluations" for preset, evaluations in of_preset.items())


def _draw(found: Mapping[tuple[str, str], Sequence[LearnedMemory]], path: Path) -> None:
    import matplotlib as mpl  # takes a second to load

    mpl.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(NMT_GPUS), figsize=(9, 3.5), layout="constrained", squeeze=False)
    for axis, graph in zip(axes[0], NMT_GPUS, strict=True):
        limit = api.parse_cluster(_cluster(graph)).devices[0].memory_bytes / GIGABYTE
        for variant in VARIANTS:
            curves = found[graph, variant.label]
            rows = np.array([_stretched(curve.fullest_bytes) for curve in curves]) / GIGABYTE
            at = np.linspace(0, 100, rows.shape[1])
            axis.plot(at, rows.mean(axis=0), label=variant.label)
            axis.fill_between(at, rows.min(axis=0), rows.max(axis=0), alpha=0.15)
        axis.axhline(limit, color="black", linestyle=":", label="memory of a device")
        axis.set(title=f"{graph}, {NMT_GPUS[graph]} devices", xlabel="% of the episodes", ylabel="fullest device, GB")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize="small", loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _stretched(values: Sequence[float]) -> list[float]:
    """[SLICES] a curve of fewer episodes than slices keeps its last value."""
    return [*values, *[values[-1]] * (SLICES - len(values))]
