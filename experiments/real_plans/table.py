"""Plans really run: a stack of layers trained on four processes of unequal speed, beside the simulated plans.

The processes have one thread each and sleep after their compute, which makes them slower by a factor each (slowed.py).
A micro-batch's step is recorded by placeto at two batches, profiled, and timed on each slowed process; gloo's link is
measured. Every division into replicas is simulated, by rule and by search (tried.py); the best, the worst and some
between are carried out by `placeto.carry_out`, in rounds. `python -m experiments real_plans` writes
docs/results/real_plans.{md,json}. What is measured stays in docs/results/kept/real_plans.jsonl, by machine; remove that
file to measure again.
"""

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from engine import VERSION
from engine.measuring.this_machine import machine_words
from experiments.grid import KeptResults, Measurement, measure_cells_here, of_any_code
from experiments.measured_streams.calibrated import BANDWIDTH, LATENCY
from experiments.measured_streams.towers import SMALL_ROWS
from experiments.pages import ReportLine, table_of_figures, write_page, write_rows
from experiments.real_plans import measured
from experiments.real_plans.devices import FACTORS, MICRO_BATCHES
from experiments.real_plans.measured import RunPlans, link_of
from experiments.real_plans.tried import BEST, WORST

COMMAND = "python -m experiments real_plans"
NAME = "real_plans"
RUN = "run"


def run(folder: Path, report: ReportLine) -> str:
    """Measure unless it is known, write `folder`/real_plans.{md,json}, and return the page."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl", also=of_any_code)
    key = key_here()
    found = measure_cells_here(kept, {RUN: key}, lambda _: asdict(measured.measured_plans()), report)[RUN]
    write_rows(folder, NAME, {"settings": key} | found, indent=1)
    return write_page(folder, NAME, page(RunPlans(**found), kept.made([key])))


def key_here() -> Measurement:
    """The key of a measurement on this machine."""
    return {
        "measured": "plans on slowed processes",
        "machine": machine_words(),
        "torch": version("torch"),
        "factors": [*FACTORS],
        "micro_batches": MICRO_BATCHES,
        "rounds": measured.ROUNDS,
        "steps": measured.STEPS,
    }


def page(found: RunPlans, made: str) -> str:
    """The order, and a row for each plan."""
    return "\n\n".join((_head(found, made), "\n".join(_order(found)), "\n".join(_plans(found)))) + "\n"


def _head(found: RunPlans, made: str) -> str:
    link = link_of(found)
    factors = ", ".join(f"{factor:g}" for factor in FACTORS)
    passes_ms = ", ".join(f"{sum(of_device[:2]) / 1e3:.0f}" for of_device in found.passes_us[0])
    latency_us, gb_a_second = link[LATENCY].value, link[BANDWIDTH].value * 1e-3
    samples, rounds, steps = SMALL_ROWS * MICRO_BATCHES, measured.ROUNDS, measured.STEPS
    return f"""# Plans really run

For those who ask how far a simulated plan can be trusted: [plans](../plans.md#plans-that-really-ran).

`{COMMAND}`; Placeto Explorer {VERSION}; torch {version("torch")}; {machine_words()}; {made}.

Four processes of one thread, made {factors} times slower by sleeping after their compute in proportion to the processor
time that it took: both passes of a micro-batch of {SMALL_ROWS} samples take {passes_ms} ms there. Gloo takes
{latency_us:.0f} µs, then {gb_a_second:.2f} GB/s. A batch has {samples} samples. {found.tried} plans were simulated.
Batch times in ms: the fastest of {steps} in each of {rounds} rounds, whose order is drawn anew; of these the median,
the least and the greatest. Losses are those of {1 + steps} steps, all replicas together, beside those of one process
with whole batches. A plan is written as the factors of each replica's stages, its micro-batches and their samples."""


def _order(found: RunPlans) -> list[str]:
    simulated_us, measured_us = found.simulated_us(), found.measured_us()
    ends = np.r_[:BEST, len(measured_us) - WORST : len(measured_us)]
    rows = []
    for words, chosen in (
        (f"the {BEST} best and the {WORST} worst", ends),
        ("all that were run", np.arange(len(measured_us))),
    ):
        ratio = measured_us[chosen] / simulated_us[chosen]
        rows.append(
            [
                words,
                str(len(chosen)),
                f"{spearmanr(simulated_us[chosen], measured_us[chosen])[0]:.2f}",
                f"{np.median(ratio):.2f} ({ratio.min():.2f} to {ratio.max():.2f})",
                f"{found.loss_difference()[chosen].max():.0e}",
            ]
        )
    return table_of_figures(["plans", "number", "Spearman", "measured / simulated", "loss, greatest difference"], rows)


def _plans(found: RunPlans) -> list[str]:
    head = ["plan", "stages", "shares", "measured", "simulated", "ratio"]
    rows = []
    for plan, fastest_us in zip(found.plans, found.fastest_us(), strict=True):
        median_us = float(np.median(fastest_us))
        rows.append(
            [
                "; ".join(_replica(row) for row in plan["replicas"]),
                plan["stages"],
                plan["shares"],
                f"{median_us / 1e3:.0f} ({fastest_us.min() / 1e3:.0f} to {fastest_us.max() / 1e3:.0f})",
                f"{plan['simulated_us'] / 1e3:.0f}",
                f"{median_us / plan['simulated_us']:.2f}",
            ]
        )
    return table_of_figures(head, rows)


def _replica(row: Mapping[str, Any]) -> str:
    """`16 24: 4 × 32`: the factors of the stages' devices, micro-batches, samples of each."""
    factors = " ".join(f"{FACTORS[stage['device']]:g}" for stage in row["stages"])
    return f"{factors}: {row['micro_batches']} × {row['micro_batch']}"
