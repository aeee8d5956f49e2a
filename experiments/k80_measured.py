"""The device kind K80-measured: efficiency and rest after an op, fitted to the paper's two steps on one K80.

`python -m experiments k80_measured` writes k80_measured.{md,json} into docs/results/. The fit has two unknowns and
two equations: on one device a step takes the ops' work at the K80's peaks, divided by the efficiency, and a rest for
each op that takes time. NMT, whose step the paper could not measure on one K80, gets the same figures: that is the
test. Source of the paper's figures: Addanki et al., NeurIPS 2019, Table 1.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine import VERSION, api
from engine.clusters.device_kinds import CATALOGUE
from experiments.pages import ReportLine, table_of_figures, write_page, write_rows
from experiments.zoo_graphs import prepared_zoo_graph, single_device_report

COMMAND = "python -m experiments k80_measured"
KIND, PLAIN = "K80-measured", "K80"
PAPER_SECONDS: Mapping[str, float] = {"inception_v3": 1.56, "nasnet": 1.28}
"""a step on one K80"""
NMT_BATCH = 1184
"""sentences in a step: the paper's is not known. From here on one K80, the expert and Scotch are out of memory as in
the paper, while placements of two and four that fit are found"""
NMT_GPUS: Mapping[str, int] = {"nmt": 2, "nmt_4_layers": 4}
PAPER_NMT: Mapping[str, str] = {"nmt": "2.32", "nmt_4_layers": "2.63"}
"""seconds of Placeto's placement, on its own batch and sizes"""
PAPER_RATIOS: Mapping[tuple[str, int], tuple[float, float, float]] = {
    ("inception_v3", 2): (1.28 / 1.56, 1.54 / 1.56, 1.18 / 1.56),
    ("inception_v3", 4): (1.15 / 1.56, 1.74 / 1.56, 1.13 / 1.56),
    ("nasnet", 2): (0.86 / 1.28, 1.28 / 1.28, 0.86 / 1.28),
    ("nasnet", 4): (0.84 / 1.28, 1.22 / 1.28, 0.74 / 1.28),
}
"""(graph, GPUs) → the paper's step times of `RATIO_METHODS`, as shares of one K80's; for the search its Placeto"""
RATIO_METHODS = ("human_expert", "scotch", "local_search")
METHODS = ("single_device", "human_expert", "scotch", "m_etf", "local_search")
EVALUATIONS = 2000


@dataclass(frozen=True, slots=True)
class OneDeviceWork:
    """What one device has to do in a step of a graph."""

    work_us: float
    """sum of the ops' times at the plain kind's figures"""
    ops: int
    """executions of ops that take time"""


def work_of(prepared: api.PreparedGraph) -> OneDeviceWork:
    """The work of a graph on the plain kind."""
    times = prepared.costs.time_on([PLAIN])[0]
    return OneDeviceWork(float(times.sum()), int(prepared.costs.trips_of_op()[times > 0].sum()))


def fit(works: Sequence[OneDeviceWork], seconds: Sequence[float]) -> tuple[float, float]:
    """Efficiency and rest in µs with which two graphs take `seconds`."""
    sides = np.array([[work.work_us, work.ops] for work in works], dtype=np.float64)
    inverse, rest_us = np.linalg.solve(sides, np.array(seconds) * 1e6)
    return float(1 / inverse), float(rest_us)


def run(folder: Path, report: ReportLine) -> str:
    """Fit, simulate, write `folder`/k80_measured.{md,json}, and return the page."""
    fitted_to = {name: prepared_zoo_graph(name, report) for name in PAPER_SECONDS}
    works = {name: work_of(prepared) for name, prepared in fitted_to.items()}
    efficiency, rest_us = fit(list(works.values()), list(PAPER_SECONDS.values()))
    kind = CATALOGUE[KIND]
    steps = {name: _one_device_seconds(prepared) for name, prepared in fitted_to.items()}
    ratios = {}
    for name, gpus in PAPER_RATIOS:
        report(f"{name} on {gpus} GPUs")
        ratios[name, gpus] = _ratios(_outcomes(fitted_to[name], gpus, RATIO_METHODS), steps[name])
    outcomes = {}
    for name, gpus in NMT_GPUS.items():
        prepared = prepared_zoo_graph(name, report, {"batch": NMT_BATCH})
        report(f"{name} on {gpus} GPUs")
        outcomes[name] = _outcomes(prepared, gpus, METHODS)
    rows: dict[str, api.Json] = {
        "efficiency": efficiency,
        "op_rest_us": rest_us,
        "in_the_catalogue": {"efficiency": kind.efficiency, "op_rest_us": kind.op_rest_us},
        "fitted_to": {
            name: {
                "paper_seconds": PAPER_SECONDS[name],
                "work_us": works[name].work_us,
                "ops": works[name].ops,
                "simulated_seconds": steps[name],
            }
            for name in PAPER_SECONDS
        },
        "of_one_device": [
            {"graph": name, "gpus": gpus, **dict(zip(RATIO_METHODS, found, strict=True))}
            for (name, gpus), found in ratios.items()
        ],
        "nmt_batch": NMT_BATCH,
        "nmt": [_row(name, outcome) for name, of in outcomes.items() for outcome in of],
    }
    write_rows(folder, "k80_measured", rows, indent=1)
    return write_page(folder, "k80_measured", _page(efficiency, rest_us, works, steps, ratios, outcomes))


def _one_device_seconds(prepared: api.PreparedGraph) -> float:
    step_time_us = single_device_report(prepared, KIND)["step_time_us"]
    assert isinstance(step_time_us, float)
    return step_time_us / 1e6


def _ratios(outcomes: Sequence[api.Outcome], one_device_seconds: float) -> list[float]:
    """[methods] what each method itself found, as a share of one device."""
    found = [outcome.own_best_us for outcome in outcomes]
    return [float("nan") if each is None else each / 1e6 / one_device_seconds for each in found]


def _outcomes(prepared: api.PreparedGraph, gpus: int, methods: Sequence[str]) -> list[api.Outcome]:
    cluster = api.parse_cluster(f"{gpus}x{KIND}")
    request = api.ComparisonRequest(cluster, tuple(methods), api.Budget(EVALUATIONS), 1)
    with tempfile.TemporaryDirectory() as work:
        return api.compare(prepared, request, Path(work), lambda _: None)


def _row(name: str, outcome: api.Outcome) -> api.Json:
    return {
        "graph": name,
        "gpus": NMT_GPUS[name],
        "method": outcome.method,
        "feasible": outcome.feasible,
        "step_time_us": outcome.step_time_us if outcome.feasible else None,
        "peak_bytes": list(outcome.peak_bytes),
        "reason": outcome.reason,
    }


def _page(
    efficiency: float,
    rest_us: float,
    works: Mapping[str, OneDeviceWork],
    steps: Mapping[str, float],
    ratios: Mapping[tuple[str, int], Sequence[float]],
    outcomes: Mapping[str, Sequence[api.Outcome]],
) -> str:
    fitted = table_of_figures(
        ("model", "work, s", "ops that take time", "plain K80, s", "paper, s", f"{KIND}, s"),
        [
            (
                name,
                f"{work.work_us / 1e6:.4f}",
                f"{work.ops:,}",
                f"{(work.work_us + CATALOGUE[PLAIN].op_rest_us * work.ops) / 1e6:.4f}",
                f"{PAPER_SECONDS[name]}",
                f"{steps[name]:.4f} (fitted)",
            )
            for name, work in works.items()
        ],
    )
    labels = {method.name: method.label for method in api.methods()}
    shares = table_of_figures(
        ("model", "GPUs", *(f"{labels[name]}, paper" for name in RATIO_METHODS)),
        [
            (name, str(gpus), *(f"{ours:.2f}, {paper:.2f}" for ours, paper in zip(found, of_paper, strict=True)))
            for (name, gpus), found in ratios.items()
            for of_paper in [PAPER_RATIOS[name, gpus]]
        ],
    )
    nmt = table_of_figures(
        ("model", "GPUs", *(labels[name] for name in METHODS), "paper's Placeto"),
        [
            (name, str(NMT_GPUS[name]), *(cell(outcome) for outcome in of), PAPER_NMT[name])
            for name, of in outcomes.items()
        ],
    )
    return PAGE.format(
        command=COMMAND,
        version=VERSION,
        kind=KIND,
        efficiency=efficiency,
        rest_us=rest_us,
        batch=f"{NMT_BATCH:,}",
        evaluations=f"{EVALUATIONS:,}",
        fitted="\n".join(fitted),
        shares="\n".join(shares),
        nmt="\n".join(nmt),
    )


def cell(outcome: api.Outcome) -> str:
    """Seconds and the fullest device, or what is missing."""
    if outcome.feasible and outcome.step_time_us is not None:
        return f"{outcome.step_time_us / 1e6:.3g} s, {max(outcome.peak_bytes) / 1e9:.1f} GB"
    return "out of memory"


PAGE = """# A K80 as the paper measured it

`{command}`; Placeto Explorer {version}. The kind `{kind}` has the K80's peaks, memory and links. Its efficiency
({efficiency:.4f}) and its rest after each op that takes time ({rest_us:.1f} µs) are fitted to the paper's two steps on
one K80, so that column says nothing of the simulator:

{fitted}

A step on one device takes the work divided by the efficiency, and a rest for each op that takes time.

## Shares of one device

Step times as shares of one device's, ours and the paper's; seed 0, up to {evaluations} evaluations. Beside the search
stands the paper's Placeto: both are the best that a method found.

{shares}

## NMT with the same figures

The fit knows nothing of NMT. Its batch, {batch}, is chosen: the paper's is not known. With it one K80 (12.9 GB), the
expert's placement and, on two, Scotch's are out of memory, as in the paper; other placements on two and on four fit.
Up to {evaluations} evaluations, seed 0; the fullest device's peak.

{nmt}

Compare what fits, not seconds: the paper's are those of its own batch and sizes. Ours are several times as long, so the
paper's graph must have needed more memory for the same arithmetic. The simulator counts neither workspaces nor
fragments ([zoo.md](../zoo.md#how-to-read-this)), so a larger batch is needed to fill a K80.
"""
