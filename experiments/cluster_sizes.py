"""What more devices and other devices are worth to auto: equal clusters of 2 to 256 devices, and unequal ones.

`python -m experiments cluster_sizes` writes docs/results/cluster_sizes.md; a second call continues where the first
stopped. Beside auto are local search and each method that gives auto a start, run by itself.
"""

from collections.abc import Iterator
from math import inf
from pathlib import Path
from statistics import fmean

from engine import VERSION
from engine.events import Json
from experiments.grid import KeptResults, Measurement
from experiments.leveled import LEVELS, METHOD, GraphOnCluster, measure_rounds
from experiments.pages import ReportLine, table_of_figures, write_page

COMMAND = "python -m experiments cluster_sizes"
NAME = "cluster_sizes"
GRAPHS = ("zoo/inception_v3", "zoo/nasnet", "zoo/nmt", "zoo/nmt_4_layers")
EQUAL = ("2xV100", "4xV100", "8xV100", "16xV100", "64xV100", "256xV100")
UNEQUAL = ("V100+3xK80", "2xV100+2xK80", "8xV100+8xK80", "2xA100+2xV100+4xK80")
SECONDS = 10.0
SEEDS = (0, 1, 2)
SEARCH = "local_search"
STARTS = ("human_expert", "m_topo", "heft", "m_etf", "m_sct", "scotch")
"""each in 128 groups, with its published readings and nothing after it, one seed"""
GROUPS = "128"
BEHIND = 0.01
"""auto is behind where another takes so much less time"""


def run(folder: Path, report: ReportLine) -> str:
    """Measure what `folder`/kept/cluster_sizes.jsonl lacks, write the page, and return it."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    for graph in GRAPHS:
        orders = {
            f"{graph} on {cluster}, {key['method']}": key
            for cluster in (*EQUAL, *UNEQUAL)
            for key in keys_of(GraphOnCluster(graph, cluster)).values()
        }
        measure_rounds(kept, graph, orders, report)
        write_page(folder, NAME, page(kept))
    return write_page(folder, NAME, page(kept))


def keys_of(place: GraphOnCluster) -> dict[str, Measurement]:
    """Method → what a child measures, in `SECONDS` of one processor for each seed."""

    def key(method: str, column: str, seeds: tuple[int, ...]) -> Measurement:
        listed = list[Json](seeds)
        return {**place._asdict(), "method": method, "column": column, "seeds": listed, "seconds": SECONDS}

    searches = {method: key(method, LEVELS, SEEDS) for method in (METHOD, SEARCH)}
    return searches | {method: key(method, GROUPS, SEEDS[:1]) for method in STARTS}


def page(kept: KeptResults) -> str:
    """The page with all clusters that every method has been measured on."""
    known = [place for place in _places() if all(key in kept for key in keys_of(place).values())]
    keys = [key for place in known for key in keys_of(place).values()]
    made = kept.made(keys) if keys else "nothing measured yet"
    rows = [_row(kept, place, known) for place in known]
    head = ("graph, cluster", "auto, s", "local search", "best start", "fewer devices")
    behind = [row[0] for row in rows if any(cell.startswith("**") for cell in row)]
    return (
        "\n\n".join(
            [
                "# Clusters of 2 to 256 devices",
                f"`{COMMAND}`; Placeto Explorer {VERSION}; {made}.",
                _HEAD,
                "\n".join(table_of_figures(head, rows)),
                f"Auto is more than {BEHIND:.0%} behind on {len(behind)} of {len(rows)} clusters.",
            ]
        )
        + "\n"
    )


_HEAD = f"""Auto through levels, {SECONDS:g} s of one processor, seeds {SEEDS[0]} to {SEEDS[-1]}, estimated costs: mean
step time and range. Beside it: by how much local search through levels, the best of the methods that give starts (in
{GROUPS} groups, by itself in the same seconds) and auto on the best of the smaller equal clusters take longer; negative
is faster than auto, in bold where by more than {BEHIND:.0%}."""


def _places() -> Iterator[GraphOnCluster]:
    for graph in GRAPHS:
        for cluster in (*EQUAL, *UNEQUAL):
            yield GraphOnCluster(graph, cluster)


def _row(kept: KeptResults, place: GraphOnCluster, known: list[GraphOnCluster]) -> list[str]:
    own = _times_us(kept, place, METHOD)
    mean_us = fmean(own)
    start_us, start = min((min(_times_us(kept, place, name), default=inf), name) for name in STARTS)
    smaller = EQUAL[: EQUAL.index(place.cluster)] if place.cluster in EQUAL else ()
    fewer = [
        fmean(_times_us(kept, other, METHOD))
        for other in known
        if other.graph == place.graph and other.cluster in smaller
    ]
    return [
        f"{place.graph}, {place.cluster}",
        f"{mean_us / 1e6:.4f} ({min(own) / 1e6:.4f} to {max(own) / 1e6:.4f})",
        _beside(fmean(_times_us(kept, place, SEARCH)), mean_us),
        f"{_beside(start_us, mean_us)} {start}",
        _beside(min(fewer), mean_us) if fewer else "–",
    ]


def _beside(other_us: float, own_us: float) -> str:
    more = other_us / own_us - 1
    return f"**{100 * more:+.1f} %**" if other_us < own_us * (1 - BEHIND) else f"{100 * more:+.1f} %"


def _times_us(kept: KeptResults, place: GraphOnCluster, method: str) -> list[float]:
    found: list[float] = kept[keys_of(place)[method]]
    return found
