"""What the default, `--groups auto`, is worth beside `--groups 128`: auto in equal seconds on two training steps.

`python -m experiments default_groups` writes docs/results/default_groups.md; a second call continues where the first
stopped.
"""

from math import expm1, log
from pathlib import Path
from statistics import fmean

from engine import VERSION
from engine.events import Json
from experiments.keeping.kept_results import KeptResults, Measurement
from experiments.keeping.statistics import paired_mean
from experiments.leveled import LEVELS, GraphOnCluster, measure_rounds
from experiments.pages import ReportLine, table_of_figures, write_page

COMMAND = "python -m experiments default_groups"
NAME = "default_groups"
PROBLEMS = (GraphOnCluster("zoo/nmt_4_layers", "4xK80"), GraphOnCluster("zoo/inception_v3", "2xK80"))
SECONDS = 20.0
SEEDS = (0, 1, 2, 3, 4)
FIXED = "128"


def run(folder: Path, report: ReportLine) -> str:
    """Measure what `folder`/kept/default_groups.jsonl lacks, write the page, and return it."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    for place in PROBLEMS:
        orders = {
            f"{place.graph} on {place.cluster}, {column}, seed {seed}": key_of(place, column, seed)
            for seed in SEEDS
            for column in (FIXED, LEVELS)
        }
        measure_rounds(kept, place.graph, orders, report)
    return write_page(folder, NAME, page(kept))


def key_of(place: GraphOnCluster, column: str, seed: int) -> Measurement:
    """What a child measures: one seed in `SECONDS` of one processor."""
    return {**place._asdict(), "column": column, "seeds": list[Json]([seed]), "seconds": SECONDS}


def page(kept: KeptResults) -> str:
    """The page with all problems."""
    keys = [key_of(place, column, seed) for place in PROBLEMS for column in (FIXED, LEVELS) for seed in SEEDS]
    rows = []
    for place in PROBLEMS:
        fixed, levels = (_step_times_us(kept, place, column) for column in (FIXED, LEVELS))
        gain = paired_mean([expm1(log(one / other)) for one, other in zip(levels, fixed, strict=True)])
        rows.append([f"{place.graph}, {place.cluster}", _seconds(fixed), _seconds(levels), gain.as_percent()])
    head = ("graph, cluster", "`--groups 128`", "`--groups auto`", "difference")
    return (
        "\n\n".join(
            [
                "# Groups auto beside 128 groups",
                f"`{COMMAND}`; Placeto Explorer {VERSION}; {kept.made(keys)}.",
                _HEAD,
                "\n".join(table_of_figures(head, rows)),
            ]
        )
        + "\n"
    )


_HEAD = f"""Auto, {SECONDS:g} s of one processor, seeds {SEEDS[0]} to {SEEDS[-1]}, estimated costs. Mean step time in s,
the least and the largest behind it; differences are seed by seed, negative is faster, with the 95 % interval."""


def _step_times_us(kept: KeptResults, place: GraphOnCluster, column: str) -> list[float]:
    """[seeds]"""
    found: list[float] = []
    for seed in SEEDS:
        found += kept[key_of(place, column, seed)]
    return found


def _seconds(step_times_us: list[float]) -> str:
    mean, least, most = (us / 1e6 for us in (fmean(step_times_us), min(step_times_us), max(step_times_us)))
    return f"{mean:.4f} ({least:.4f} to {most:.4f})"
