"""Streams really run: batches of three stacks of layers by torch.distributed.pipelining, beside their simulation.

Each process is a device: two of them, three and four where the machine has as many processors. A micro-batch's step is
recorded by placeto and profiled, gloo's link is measured by the trials of `calibrate`; splits are exported as
`split_spec` and run by GPipe and 1F1B, in rounds. `python -m experiments measured_streams` writes
docs/results/measured_streams.{md,json}. What is measured stays in docs/results/kept/measured_streams.jsonl, by machine;
remove that file to measure again.
"""

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np

from engine import VERSION, api
from engine.clusters.calibration import MeasuredFigure
from engine.measuring.calibrating.calibration import contention_of
from engine.measuring.fidelity import fidelity
from engine.measuring.this_machine import machine_words
from experiments.grid import KeptResults, Measurement, measure_cells_here, of_any_code
from experiments.measured_streams import tower_runs
from experiments.measured_streams.calibrated import BANDWIDTH, LATENCY, measured_link
from experiments.measured_streams.tower_runs import ALONE, EQUAL, OURS, PIPELINES, RunTower, measured_tower
from experiments.pages import ReportLine, table_of_figures, write_page, write_rows

COMMAND = "python -m experiments measured_streams"
NAME = "measured_streams"
TOWERS = ("blocks", "adapters", "convolutions")
PROCESSES = (2, 3, 4)
LINK = "link"
WORST = "the worst of ten drawn"


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/measured_streams.{md,json}, and return the page."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl", also=of_any_code)
    link_key = key_of(LINK)
    link = measure_cells_here(kept, {LINK: link_key}, lambda _: _to_json(measured_link()), report)[LINK]
    figures = {name: MeasuredFigure(**each) for name, each in link.items()}
    cells = {(tower, count): key_of(f"{tower} on {count} processes") for count in counts_here() for tower in TOWERS}

    def measure(cell: tuple[str, int]) -> api.Json:
        return asdict(measured_tower(*cell, figures))

    rows = measure_cells_here(kept, cells, measure, report)
    write_rows(
        folder, NAME, {"settings": settings(), LINK: link, "towers": [dict(cells[cell]) | rows[cell] for cell in cells]}
    )
    found = {cell: RunTower(**row) for cell, row in rows.items()}
    return write_page(folder, NAME, page(found, figures, kept.made([link_key, *cells.values()])))


def counts_here() -> list[int]:
    """The numbers of processes that have a processor each; two always, as `measure --processes` has it."""
    return [count for count in PROCESSES if count <= api.most_processes()]


def settings() -> dict[str, api.Json]:
    """What a measurement depends on beside its tower."""
    return {
        "machine": machine_words(),
        "torch": version("torch"),
        "micro_batches": tower_runs.MICRO_BATCHES,
        "rounds": tower_runs.ROUNDS,
        "batches": tower_runs.BATCHES,
    }


def key_of(words: str) -> Measurement:
    """The key of a measurement on this machine."""
    return {"measured": words, **settings()}


def _to_json(figures: Mapping[str, MeasuredFigure]) -> dict[str, api.Json]:
    return {name: asdict(each) for name, each in figures.items()}


def page(found: Mapping[tuple[str, int], RunTower], link: Mapping[str, MeasuredFigure], made: str) -> str:
    """The summary of each tower, and below the figures of each split."""
    parts = [_head(link, made), "\n".join(_summary(found))]
    left_out = [count for count in PROCESSES if count not in counts_here()]
    if left_out:
        words = " and ".join(map(str, left_out))
        parts.append(f"{words} processes were not run: this machine has {machine_words()}, and each needs a processor.")
    parts.append("\n".join(_order(found)))
    for (tower, count), run_tower in found.items():
        parts += [f"## {tower}, {count} processes", "\n".join(_splits(run_tower))]
    return "\n\n".join(parts) + "\n"


def _head(link: Mapping[str, MeasuredFigure], made: str) -> str:
    latency, bandwidth = _range(link[LATENCY], 1, 0), _range(link[BANDWIDTH], 1e-3, 2)
    rounds, batches = tower_runs.ROUNDS, tower_runs.BATCHES
    return f"""# Streams really run

For those who ask how far simulated batches can be trusted: [what it means](../measuring/streams.md).

`{COMMAND}`; Placeto Explorer {VERSION}; torch {version("torch")}; {machine_words()}; {made}.

{tower_runs.MICRO_BATCHES} micro-batches a batch; processes of one thread. Gloo takes {latency} µs, then
{bandwidth} GB/s, `{contention_of(link)}`. Batch times in ms: the fastest of {batches} batches
in each of {rounds} rounds, whose order is drawn anew; of these the median, the least and the greatest. Beside them
the simulated time."""


def _range(figure: MeasuredFigure, scale: float, digits: int) -> str:
    """The value, and the range of the rounds."""
    value, low, high = (f"{each * scale:.{digits}f}" for each in (figure.value, figure.low, figure.high))
    return f"{value} ({low} to {high})"


def _measured(run_tower: RunTower, pipeline: int, split: int) -> list[str]:
    """Measured with its range, simulated, and the ratio."""
    times_ms = run_tower.fastest_us(pipeline)[split] / 1e3
    simulated_ms = run_tower.simulated_us[pipeline][split] / 1e3
    median = float(np.median(times_ms))
    return [
        f"{median:.0f} ({times_ms.min():.0f} to {times_ms.max():.0f})",
        f"{simulated_ms:.0f}",
        f"{median / simulated_ms:.2f}",
    ]


def _summary(found: Mapping[tuple[str, int], RunTower]) -> list[str]:
    head = ["stack, processes", "pipeline", "split", "measured", "simulated", "ratio"]
    rows = []
    for (tower, count), run_tower in found.items():
        for number, pipeline in enumerate(PIPELINES):
            medians = np.median(run_tower.fastest_us(number), axis=1)
            worst = max(run_tower.drawn(), key=lambda split: float(medians[split]))
            chosen = {
                EQUAL: run_tower.split_named(EQUAL),
                f"ours, `{OURS}`": run_tower.split_named(f"{OURS}, {pipeline}"),
                WORST: worst,
                ALONE: run_tower.split_named(ALONE),
            }
            for words, split in chosen.items():
                rows.append([f"{tower}, {count}", pipeline, words, *_measured(run_tower, number, split)])
    return table_of_figures(head, rows)


def _order(found: Mapping[tuple[str, int], RunTower]) -> list[str]:
    """How the simulated order compares with the measured one, over all splits of a tower."""
    head = ["stack, processes, pipeline", "splits", "noise", "spread", "Spearman", "reachable", "pairs in order",
            "regret", "ratio"]  # fmt: skip
    rows = []
    for (tower, count), run_tower in found.items():
        for number, pipeline in enumerate(PIPELINES):
            measured = run_tower.measured(number)
            figures = fidelity(measured, np.array(run_tower.simulated_us[number]))
            ratio, least, greatest = (figures[f"{name}_ratio"] for name in ("median", "least", "greatest"))
            rows.append(
                [
                    f"{tower}, {count}, {pipeline}",
                    str(len(run_tower.splits)),
                    f"{measured.step_time_noise:.1%}",
                    f"{measured.spread:.1%}",
                    _figure(figures["spearman"]),
                    _figure(figures["reachable_spearman"]),
                    f"{_percent(figures['ordered_pairs'])} of {figures['pairs']}",
                    _percent(figures["top_1_regret"]),
                    f"{ratio:.2f} ({least:.2f} to {greatest:.2f})",
                ]
            )
    return table_of_figures(head, rows)


def _figure(value: api.Json) -> str:
    return "–" if value is None else f"{value:.2f}"


def _percent(value: api.Json) -> str:
    return "–" if value is None else f"{value:.1%}"


def _splits(run_tower: RunTower) -> list[str]:
    head = [
        "stages begin with",
        "",
        *(f"{name}, {what}" for name in PIPELINES for what in ("measured", "simulated", "ratio")),
    ]
    rows = []
    for split, (names, points) in enumerate(zip(run_tower.names, run_tower.splits, strict=True)):
        figures = [each for number in range(len(PIPELINES)) for each in _measured(run_tower, number, split)]
        rows.append([", ".join(points) or "–", "; ".join(dict.fromkeys(names)), *figures])
    words = (
        f"Both passes of a micro-batch take {min(run_tower.passes_us) / 1e3:.1f} ms, its ops "
        f"{run_tower.ops_us / 1e3:.1f} ms: {run_tower.op_rest_us:.0f} µs beside each."
    )
    return [words, "", *table_of_figures(head, rows)]
