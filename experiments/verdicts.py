"""Does splitting pay, and how much simpler can a placement be? The zoo, its families and ten Keras models.

`python -m experiments verdicts` writes docs/results/verdicts.{md,json}. For each graph on each cluster a search of
`EVALUATIONS` evaluations finds the fastest placement, then the run's simplest one within 1 %. Each row is kept in
kept/verdicts.jsonl there, so a second call continues where the first stopped.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from engine import VERSION, api
from engine.zoo import ZOO
from engine.zoo.families.catalogue import FAMILIES
from experiments.family_graphs import first_graphs
from experiments.grid import KeptResults, Measurement, measure_cells_here, write_known
from experiments.keras_files import OPTIONS, keras_file
from experiments.pages import ReportLine, table_of_figures

COMMAND = "python -m experiments verdicts"
NAME = "verdicts"
METHOD = "local_search"
EVALUATIONS = 2000
CLUSTERS = ("2xV100", "4xV100")
OF_A_FAMILY = 1
"""held-out graphs of each family"""
KERAS = (
    "resnet50",
    "densenet121",
    "xception",
    "convnext_tiny",
    "unet",
    "bert",
    "gpt",
    "t5",
    "lstm_40",
    "fit_gpt",
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A graph of the table."""

    kind: str
    """`zoo`, `family` or `keras`"""
    name: str
    prepare: Callable[[], api.PreparedGraph]

    def key(self, cluster: str) -> Measurement:
        """What a row measures."""
        return {"kind": self.kind, "graph": self.name, "cluster": cluster, "evaluations": EVALUATIONS}


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/verdicts.{md,json} after each graph, and return the page."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    every = [*subjects()]
    keys = [subject.key(cluster) for cluster in CLUSTERS for subject in every]
    for subject in reversed(every):  # small graphs first
        measure(kept, subject, report)
        write_known(folder, NAME, kept, keys, page)
    return write_known(folder, NAME, kept, keys, page)


def measure(kept: KeptResults, subject: Subject, report: ReportLine) -> None:
    """The rows of one graph that `kept` lacks; the graph is read once, if at all."""
    prepared = cache(subject.prepare)
    cells = {cluster: subject.key(cluster) for cluster in CLUSTERS}

    def report_cluster(cluster: str) -> None:
        report(f"{subject.kind} {subject.name} on {cluster}")

    measure_cells_here(kept, cells, lambda cluster: row_of(prepared(), cluster), report_cluster)


def subjects() -> Iterator[Subject]:
    """All graphs of the table."""
    for name in ZOO:
        yield Subject("zoo", name, partial(_built, name))
    for family in FAMILIES:
        for index in range(OF_A_FAMILY):
            yield Subject("family", f"{family} {index}", partial(_member, family, index))
    for name in KERAS:
        yield Subject("keras", name, partial(_keras, name))


def _built(name: str) -> api.PreparedGraph:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.pb"
        api.build(name, path, lambda *_: None)
        return api.prepare(path, path.suffix, lambda *_: None, api.Limits())


def _member(family: str, index: int) -> api.PreparedGraph:
    return first_graphs(family, "test", index + 1)[index]


def _keras(name: str) -> api.PreparedGraph:
    path = keras_file(name, "graph_with_shapes")
    return api.prepare(path, path.suffix, lambda *_: None, api.Limits(), options=OPTIONS)


def row_of(prepared: api.PreparedGraph, cluster: str) -> dict[str, api.Json]:
    """The figures of a run: both placements, without the devices of groups, and the verdict."""
    request = api.RunRequest(api.parse_cluster(cluster), METHOD, api.Budget(EVALUATIONS), seed=0, robustness=False)
    facts: dict[str, api.Json] = {"ops": prepared.graph.op_count, "edges": prepared.graph.edge_count}
    try:
        report = api.place(prepared, request, lambda _: None, lambda: False)
    except api.InfeasibleError as error:
        return facts | {"verdict": {"kind": "infeasible", "sentence": str(error)}, "simplest": None}
    kept = ("step_time_us", "devices_used", "crossing_edges", "verdict", "wall_seconds", "lower_bound_us")
    simplest: Any = report["simplest"]
    figures = {name: value for name, value in simplest.items() if name not in ("device_of_group", "parts")}
    return facts | {name: report[name] for name in kept} | {"simplest": figures}


HEAD = (
    "graph",
    "ops",
    "one device, ms",
    "fastest, ms",
    "gain",
    "its interval",
    "verdict",
    "devices",
    "simplest",
    "crossing edges",
    "simplest",
    "step time given up",
    "evaluations",
    "seconds",
)


def page(rows: Sequence[dict[str, Any]], made: str) -> str:
    """The whole page; `made` says by which state of the code."""
    parts = [
        "# Verdicts and simplest placements",
        f"`{COMMAND}`; Placeto Explorer {VERSION}, {made}; local search, {EVALUATIONS:,}\n"
        "evaluations, seed 0, groups auto (families: 128), estimated costs. [fidelity.md](fidelity.md) gives the\n"
        "intervals: a gain counts only if all of its interval is above zero. The simplest placement has the fewest\n"
        "devices, then the fewest crossing edges, and is at most 1 % slower than the fastest; the last two columns\n"
        "say what it took to find it after the run.",
    ]
    for cluster in CLUSTERS:
        here = [row for row in rows if row["cluster"] == cluster]
        parts += [f"## {cluster}", "\n".join(table_of_figures(HEAD, [_cells(row) for row in here])), _summed_up(here)]
    return "\n\n".join(parts) + "\n"


def _cells(row: dict[str, Any]) -> list[str]:
    verdict, simplest = row["verdict"], row["simplest"]
    name = f"{row['kind']}: {row['graph']}"
    if simplest is None:
        return [name, f"{row['ops']:,}", *["–"] * 4, verdict["kind"], *["–"] * 7]
    gain = verdict["gain"]
    interval = "–" if gain is None else f"{100 * verdict['gain_low']:.1f} to {100 * verdict['gain_high']:.1f} %"
    return [
        name,
        f"{row['ops']:,}",
        "does not fit" if verdict["one_device_us"] is None else f"{verdict['one_device_us'] / 1e3:.3f}",
        f"{row['step_time_us'] / 1e3:.3f}",
        "–" if gain is None else f"{100 * gain:.1f} %",
        interval,
        verdict["kind"],
        str(row["devices_used"]),
        str(simplest["devices_used"]),
        f"{row['crossing_edges']:,}",
        f"{simplest['crossing_edges']:,}",
        f"{100 * (simplest['step_time_us'] / row['step_time_us'] - 1):.2f} %",
        f"{simplest['evaluations']:,}",
        f"{simplest['seconds']:.2f}",
    ]


def _summed_up(rows: Sequence[dict[str, Any]]) -> str:
    """By kind of graph: the gains within the error, and the crossing edges that the simplest placements save."""
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        known = [row for row in rows if row["kind"] == kind and row["simplest"] is not None]
        gains = [row["verdict"] for row in known if (row["verdict"]["gain"] or 0) > 0]
        within = sum(verdict["kind"] == "one_device" for verdict in gains)
        split = [row for row in known if row["crossing_edges"]]
        before, after = (
            sum(each["crossing_edges"] for each in side) for side in (split, [r["simplest"] for r in split])
        )
        saved = f"{before:,} crossing edges become {after:,}" if split else "no edge crosses"
        lines.append(f"- {kind}: {within} of {len(gains)} gains over one device are within the error; {saved}.")
    return "\n".join(lines)
