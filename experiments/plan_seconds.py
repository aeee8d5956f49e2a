"""How many seconds a search for plans needs: what it has found by when, and the memory that it takes.

`python -m experiments plan_seconds` writes docs/results/plan_seconds.{md,json}: GPT-2's training step, read at 2 and 4
samples, on 8 and on 64 cards of two kinds. Each search is a process of its own; its memory is that of the process, with
both readings. Each row is kept in kept/plan_seconds.jsonl there, and counts for any state of the code: remove those to
measure again.
"""

import resource
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine import VERSION, api
from engine.child.parent import ReportProgress, Results
from engine.plans.by_batch import ModelByBatch
from experiments.elsewhere import TRAINING, Recorded
from experiments.grid import RESULT, KeptResults, Measurement, measure_cells, of_any_code, write_known
from experiments.pages import ReportLine, table_of_figures

COMMAND = "python -m experiments plan_seconds"
NAME = "plan_seconds"
MODEL = "GPT-2"
READ_AT = (2, 4)
SEARCHES: Mapping[str, tuple[int, tuple[float, ...]]] = {
    "4xRTX4090+4xRTX3090": (64, (10.0, 60.0)),
    "32xRTX4090+32xRTX3090": (1024, (60.0, 1200.0)),
}
"""cluster → batch, seconds of its searches; the last is the yardstick"""
MIB = 2**20
KIB = 2**10


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/plan_seconds.{md,json}, and return the page."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl", also=of_any_code)
    cells = {f"{key['cluster']}, {key['seconds']} s": key for key in all_keys()}
    with tempfile.TemporaryDirectory() as scratch:
        files = []
        if any(key not in kept for key in cells.values()):
            for samples in READ_AT:
                files.append(Path(scratch) / f"{samples}.json.gz")
                Recorded(MODEL, TRAINING, samples, (), 512, "bfloat16").record(files[-1])
        beside: dict[str, api.Json] = {"files": [str(path) for path in files]}
        measure_cells(kept, f"{__name__}:search_in_child", cells, 1, report, beside=beside)
    return write_known(folder, NAME, kept, all_keys(), page)


def all_keys() -> Iterator[Measurement]:
    """Every search."""
    for cluster, (batch, all_seconds) in SEARCHES.items():
        for seconds in all_seconds:
            yield {"model": MODEL, "cluster": cluster, "batch": batch, "seconds": seconds, "seed": 0}


def search_in_child(arguments: dict[str, Any], _folder: Path, _report_progress: ReportProgress) -> Results:
    """One search, with the most memory that its process has held."""
    paths = [Path(file) for file in arguments["files"]]
    readings = [api.prepare(path, api.suffix_of(path.name), lambda *_: None, api.Limits()) for path in paths]
    cluster, seconds = str(arguments["cluster"]), float(arguments["seconds"])
    return {}, {RESULT: row_of(api.model_by_batch(readings), cluster, int(arguments["batch"]), seconds)}


def row_of(model: ModelByBatch, cluster: str, batch: int, seconds: float) -> dict[str, api.Json]:
    """What a search of so many seconds finds."""
    rules = api.PlanRules(api.Pipeline.ONE_F_ONE_B)
    request = api.PlanRequest(api.parse_cluster(cluster), batch, rules, seconds)
    report: Mapping[str, Any] = api.plan(model, request, lambda _: None)
    best, equal = report["plans"][0], report["usual"]["data_parallel"]
    return {
        "samples_per_second": best["samples_per_second"],
        "data_parallel": None if equal is None else equal["samples_per_second"],
        "replicas": len(best["replicas"]),
        **{name: report[name] for name in ("wall_seconds", "simulated", "left_out", "not_reached")},
        "process_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB,
    }


def page(rows: Sequence[Mapping[str, Any]], made: str) -> str:
    """The whole page; `made` says by which state of the code."""
    last = {row["cluster"]: row["samples_per_second"] for row in rows}
    head = ("devices", "batch", "s", "samples a second", "behind the longest search", "equal shares", "replicas",
            "simulated", "left out", "not reached", "memory, MiB")  # fmt: skip
    lines = [
        [
            row["cluster"],
            str(row["batch"]),
            f"{row['wall_seconds']:.1f}",
            f"{row['samples_per_second']:.4g}",
            f"{100 * (1 - row['samples_per_second'] / last[row['cluster']]):.1f} %",
            "–" if row["data_parallel"] is None else f"{row['data_parallel']:.4g}",
            *(f"{row[name]:,}" for name in ("replicas", "simulated", "left_out", "not_reached")),
            f"{row['process_bytes'] / MIB:,.0f}",
        ]
        for row in rows
    ]
    parts = [
        "# What a search for plans finds by when",
        "For those who ask how long to let it search.",
        f"`{COMMAND}`; Placeto Explorer {VERSION}, {made}. {MODEL}, training, read at {READ_AT[0]} and {READ_AT[1]} "
        "samples of 512 tokens.\nCandidates are divisions of the devices with a size of micro-batch; memory is that of "
        "the whole process.",
        "\n".join(table_of_figures(head, lines)),
    ]
    return "\n\n".join(parts) + "\n"
