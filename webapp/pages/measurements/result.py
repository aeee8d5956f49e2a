"""What a measurement says: sentences, the table of its placements, the figures of fidelity, the plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import api
from webapp.measuring.models import MeasuredPlacement
from webapp.pages.measurements.scatter import Scatter, Spot, scatter_of

FEW = 10
"""placements: with fewer, other placements could give quite other figures"""
ORDERS = (
    (0.9, "almost as this machine does"),
    (0.7, "roughly as this machine does"),
    (0.4, "only loosely as this machine does"),
)
"""least Spearman → how the simulator orders the placements"""
NO_ORDER = "in an order that says little about this machine"


@dataclass(frozen=True, slots=True)
class MeasuredLine:
    """A row of the table."""

    placement: MeasuredPlacement
    simulated_us: float
    measured_us: float
    fastest_us: float
    ratio: str


@dataclass(frozen=True, slots=True)
class FidelityLine:
    """One figure of fidelity with its meaning."""

    heading: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class MeasurementResult:
    """All that the page shows."""

    sentences: list[str]
    notes: list[str]
    """what else a reader of the figures must know"""
    lines: list[MeasuredLine]
    """the measured fastest first"""
    figures: list[FidelityLine]
    scatter: Scatter
    step_time_source: str
    """how the simulated step times were found, in words"""


def result_of(report: api.Json, placements: Sequence[MeasuredPlacement]) -> MeasurementResult:
    """The report of `api.measure_many` for these placements, for people."""
    found: Any = report
    rows = list(zip(placements, found["placements"], strict=True))
    return MeasurementResult(
        sentences=sentences_of(found),
        notes=found.get("notes", []),
        lines=sorted((_line(placement, row) for placement, row in rows), key=lambda line: line.measured_us),
        figures=figures_of(found),
        scatter=scatter_of([_spot(placement, row) for placement, row in rows]),
        step_time_source=api.simulated_words(found["sources"]),
    )


def _line(placement: MeasuredPlacement, row: Mapping[str, float]) -> MeasuredLine:
    simulated_us, measured_us = row["simulated_step_time_us"], row["step_time_us"]
    return MeasuredLine(placement, simulated_us, measured_us, row["fastest_us"], _ratio(measured_us / simulated_us))


def _spot(placement: MeasuredPlacement, row: Mapping[str, Any]) -> Spot:
    simulated_us, measured_us = row["simulated_step_time_us"], row["step_time_us"]
    return Spot(placement.words, simulated_us, measured_us, row["rounds_us"], placement.run_id is not None)


def sentences_of(report: Mapping[str, Any]) -> list[str]:
    """How far the simulated order and the simulated times can be trusted."""
    fidelity, count = report["fidelity"], len(report["placements"])
    said = [_order(fidelity["spearman"], count), _best(fidelity["top_1_regret"])]
    least, median, most = (_ratio(fidelity[name]) for name in ("least_ratio", "median_ratio", "greatest_ratio"))
    said.append(
        f"A measured step takes {median} times the simulated one in the median, {least} to {most} times over all."
    )
    noise, spread = api.percent_words(report["noise"]), api.percent_words(report["spread"])
    said.append(
        f"The placements differ by {spread} from each other; measured again, one differs by {noise} from itself."
    )
    if count < FEW:
        said.append(f"With {count} placements these figures are rough; measure more to rely on them.")
    return said


def _order(spearman: float | None, count: int) -> str:
    if spearman is None:
        return f"The simulator gives these {count} placements no order: all their times are equal."
    words = next((words for least, words in ORDERS if spearman >= least), NO_ORDER)
    return f"The simulator orders these {count} placements {words}."


def _best(regret: float) -> str:
    if regret <= 0:
        return "The one that it calls fastest is the fastest here, too."
    return f"The one that it calls fastest takes {api.percent_words(regret)} longer here than the measured fastest."


def figures_of(report: Mapping[str, Any]) -> list[FidelityLine]:
    """All figures with their meaning; a dash for one that there is not."""
    found = report["fidelity"]
    ratios = f"{_ratio(found['least_ratio'])} to {_ratio(found['greatest_ratio'])}"
    pairs = f"of {found['pairs']:,} pairs that differ when simulated, and by more than twice the noise when measured: "
    pairs += "those in the same order"
    return [
        FidelityLine(
            "Spearman",
            _correlation(found["spearman"]),
            "rank correlation of simulated and measured steps: 1 is the same order, 0 none",
        ),
        FidelityLine(
            "Spearman within reach",
            _correlation(found["reachable_spearman"]),
            "about the most that noise allows: how far all rounds together agree with the truth",
        ),
        FidelityLine(
            "Kendall",
            _correlation(found["kendall"]),
            "pairs in the same order less pairs in the other one, as a share of all",
        ),
        FidelityLine(
            "Kendall of the fastest",
            _correlation(found["kendall_fastest"]),
            "the same among the 20 measured fastest, which matter most",
        ),
        FidelityLine("Pairs in order", _share(found["ordered_pairs"]), pairs),
        FidelityLine(
            "Regret",
            api.percent_words(found["top_1_regret"]),
            "how much longer the simulated fastest takes than the measured fastest; noise adds to it",
        ),
        FidelityLine(
            "Regret, cross-checked",
            _regret(found.get("top_1_regret_cross_checked"), found.get("top_1_regret_error")),
            "the same in each round over the placement that is fastest by the other rounds; ± is its standard error",
        ),
        FidelityLine("Median ratio", _ratio(found["median_ratio"]), "measured step over simulated step; 1 is equal"),
        FidelityLine("Least and greatest ratio", ratios, "the ratios that are farthest off"),
        FidelityLine(
            "Noise",
            api.percent_words(report["noise"]),
            "how much the time of a placement varies when it is measured again, apart from what changes for all",
        ),
        FidelityLine(
            "Spread", api.percent_words(report["spread"]), "by how much the placements differ from each other"
        ),
    ]


def _correlation(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def _regret(regret: float | None, error: float | None) -> str:
    """With its standard error; a dash for a single round."""
    if regret is None:
        return "–"
    return api.percent_words(regret) + ("" if error is None else f" ± {api.percent_words(error)}")


def _share(value: float | None) -> str:
    return "–" if value is None else api.part_words(value)


def _ratio(value: float) -> str:
    return f"{value:.3g}" if value < 99.5 else f"{value:,.0f}"
