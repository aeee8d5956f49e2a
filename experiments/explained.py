"""What explains the difference between measured and simulated steps: the tables of `fidelity` beyond its figures.

Some placements of each graph are run once more with tracing. Their reports stay in docs/results/kept/fidelity, one by
one.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from engine import api
from experiments.pages import ReportLine, table_of_figures

CHOSEN = {
    4: "random, a fifth apart",
    10: "random, half apart",
    30: "along a search",
    40: "one device",
    45: "HEFT",
    59: "auto",
}
"""place among the placements of `fidelity` → words"""
STEPS = 5
TYPES_SHOWN = 10
LEAST_BYTES = 500 * 10**6
"""a device's peak from which the simulated one is judged"""

Report: TypeAlias = dict[str, Any]
"""`step_time_us`, `simulated_step_time_us`, `difference` and `memory` of a report of `api.measure`"""
FIELDS = ("step_time_us", "simulated_step_time_us", "difference", "memory")


def explained(
    path: Path, placements: Sequence[api.Json], machine: str, kept: Path, report: ReportLine
) -> dict[str, Report]:
    """Words → report of each chosen placement, on the calibrated cluster with estimated costs; measured once."""
    found: dict[str, Report] = json.loads(kept.read_text()) if kept.exists() else {}
    for place, words in CHOSEN.items():
        if words not in found and place < len(placements):
            report(f"tracing {path.stem}, {words}")
            measured = api.measure(
                path,
                ".pb",
                placements[place],
                api.ReadingOptions(),
                api.MEASURING_LIMITS,
                cluster=api.parse_cluster(machine),
                steps=STEPS,
                processes=True,
            )
            found[words] = {name: measured[name] for name in FIELDS}
            kept.write_text(json.dumps(found) + "\n")
    return found


def tables(graph: str, reports: Mapping[str, Report]) -> Iterator[str]:
    """The lines of a graph's part of the page."""
    yield from (f"## What explains the difference: {graph}", "")
    yield from table_of_figures(
        DEVICE_HEAD, [row for words, report in reports.items() for row in _devices(words, report)]
    )
    yield ""
    yield from table_of_figures(TYPE_HEAD, list(_types(reports.values())))
    yield ""
    yield from table_of_figures(LINK_HEAD, list(_links(reports.values())))
    yield ""


DEVICE_HEAD = (
    "placement, device",
    "step, ms",
    "simulated",
    "busy, ms",
    "simulated",
    "receiving, ms",
    "simulated",
    "waiting, ms",
    "simulated",
    "peak, MB",
    "simulated",
    "ratio",
)


def _devices(words: str, report: Report) -> Iterator[list[str]]:
    memory = report["memory"] or [None] * len(report["difference"]["devices"])
    for device, held in zip(report["difference"]["devices"], memory, strict=True):
        row = [f"{words}, {device['device']}", _ms(report["step_time_us"]), _ms(report["simulated_step_time_us"])]
        for part in ("busy_us", "receiving_us", "waiting_us"):
            row += [_ms(device[side][part]) for side in ("measured", "simulated")]
        yield [*row, *(_held(held) if held is not None else ["", "", ""])]


def _held(held: Mapping[str, Any]) -> list[str]:
    peak, simulated, ratio = (held[name] for name in ("peak_bytes", "simulated_peak_bytes", "measured_over_simulated"))
    peaks = ["" if each is None else f"{each / 1e6:,.0f}" for each in (peak, simulated)]
    return [*peaks, f"{ratio:.2f}" if ratio is not None and simulated >= LEAST_BYTES else ""]


TYPE_HEAD = ("op type, all these placements", "measured, ms", "simulated, ms", "ratio")


def _types(reports: Collection[Report]) -> Iterator[list[str]]:
    """The op types with the largest differences over all `reports`, and the others together."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for report in reports:
        of_types = report["difference"]["op_types"]
        for row in [*of_types["rows"], of_types["rest"] | {"type": "others"}]:
            for side, name in enumerate(("measured_us", "simulated_us")):
                sums[row["type"]][side] += row[name]
    order = sorted((name for name in sums if name != "others"), key=lambda name: -abs(sums[name][0] - sums[name][1]))
    others = [sums[name] for name in (*order[TYPES_SHOWN:], *(["others"] if "others" in sums else []))]
    for name in order[:TYPES_SHOWN]:
        yield _compared(name, *sums[name])
    if others:
        yield _compared("others", *(sum(each) for each in zip(*others, strict=True)))


LINK_HEAD = ("link, all these placements", "transfers", "simulated", "MB", "simulated", "ms", "simulated", "ratio")


def _links(reports: Collection[Report]) -> Iterator[list[str]]:
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for report in reports:
        for row in report["difference"]["links"]["rows"]:
            for name in ("count", "bytes", "covered_us"):
                for side in ("measured", "simulated"):
                    sums[f"{row['source']} to {row['target']}"][f"{side}_{name}"] += row[f"{side}_{name}"]
    for link, of in sums.items():
        counts = [f"{of[f'{side}_count']:,.0f}" for side in ("measured", "simulated")]
        sizes = [f"{of[f'{side}_bytes'] / 1e6:,.1f}" for side in ("measured", "simulated")]
        _, *times = _compared(link, of["measured_covered_us"], of["simulated_covered_us"])
        yield [link, *counts, *sizes, *times]


def _compared(name: str, measured_us: float, simulated_us: float) -> list[str]:
    return [name, _ms(measured_us), _ms(simulated_us), f"{measured_us / simulated_us:.2f}" if simulated_us else ""]


def _ms(time_us: float) -> str:
    return f"{time_us / 1e3:,.1f}"
