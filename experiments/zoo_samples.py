"""How many evaluations a policy trained on one graph of the zoo needs to pass the human expert and the RNN's best.

`python -m experiments zoo_samples` writes docs/results/zoo_samples.{md,json}. It keeps each outcome in
kept/zoo_samples.jsonl there, so a second call continues where the first stopped. The page also has Placeto without
learning, Post and local search with the same evaluations, and the paper's figures.
Source of the paper's figures: Addanki et al., NeurIPS 2019, Table 1; of the memory: its published sample settings.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import fmean

from engine import VERSION, api
from engine.clusters.cluster import Cluster
from experiments.grid import KeptResults, Measurement
from experiments.outcomes import Column, KeptProblem, column_of, measure_outcomes, small_facts
from experiments.pages import ReportLine, left_rule, table_line, write_page, write_rows
from experiments.table1 import ROWS, Table1Row
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments zoo_samples"
EVALUATIONS = 2000
SEEDS = 5
MEMORY_BYTES = 8 * 10**9
"""of a device: above it the paper's step times have a penalty, so a larger model needs several devices"""
COMPARED = (
    column_of("placeto"),
    Column("Placeto, frozen", "placeto", {"frozen": True}),
    column_of("post"),
    column_of("local_search"),
)
"""each has its line"""
TO_PASS = (column_of("human_expert"), column_of("rnn"))
PAPER_EVALUATIONS = {
    ("inception_v3", 2): "1,600",
    ("inception_v3", 4): "5,800",
    ("nmt", 2): "20,400",
    ("nmt_4_layers", 4): "94,000",
    ("nasnet", 2): "3,500",
    ("nasnet", 4): "29,000",
}
"""evaluations until the paper's policy had the placement of its table"""


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/zoo_samples.{md,json}, and return the page."""
    kept = KeptResults(folder / "kept" / "zoo_samples.jsonl")
    zoo = cache(partial(prepared_zoo_graph, report=report))
    columns = (*TO_PASS, *COMPARED)
    found: dict[Table1Row, dict[str, list[api.Outcome]]] = {}
    keys: list[Measurement] = []
    for row in ROWS:
        problem = KeptProblem(row.graph, f"{row.gpus}xK80, 8 GB each", _cluster(row), partial(zoo, row.graph))
        found[row] = measure_outcomes(kept, problem, columns, SEEDS, EVALUATIONS, report, curves=True)
        keys += [key for key in problem.keys(columns, SEEDS, EVALUATIONS) if key in kept]
    rows = [_facts(row, column, each) for row in found for column in columns for each in found[row][column.label]]
    write_rows(folder, "zoo_samples", rows)
    return write_page(folder, "zoo_samples", page(found, kept.made(keys)))


def _cluster(row: Table1Row) -> Cluster:
    cluster = api.parse_cluster(f"{row.gpus}xK80")
    devices = tuple(dataclasses.replace(device, memory_bytes=MEMORY_BYTES) for device in cluster.devices)
    return dataclasses.replace(cluster, devices=devices)


def _facts(row: Table1Row, column: Column, outcome: api.Outcome) -> dict[str, api.Json]:
    """An outcome as a row of the JSON, with the settings over the defaults."""
    facts: dict[str, api.Json] = {"graph": row.graph, "gpus": row.gpus, "settings": dict(column.settings)}
    return facts | small_facts(outcome)


def evaluations_to_pass(outcome: api.Outcome, step_time_us: float | None) -> int | None:
    """Evaluations until its best was below `step_time_us`; None if it never was, or without a time to pass."""
    if step_time_us is None:
        return None
    return next((evaluations for evaluations, best_us in outcome.curve if best_us < step_time_us), None)


def page(found: Mapping[Table1Row, Mapping[str, Sequence[api.Outcome]]], made: str) -> str:
    """The whole page; `made` says by which state of the code."""
    head = f"""# Evaluations to pass the human expert and the RNN

`{COMMAND}`; Placeto Explorer {VERSION}, {made};
{EVALUATIONS:,} evaluations a seed, seeds 0 to {SEEDS - 1}, default settings, 128 groups, K80s with
{MEMORY_BYTES / 1e9:g} GB each, estimated costs. Each method is trained or run on that graph alone. "Placeto, frozen" is
the same method without learning: what it finds comes from sampling, and learning brings the difference.

Evaluations until the best placement so far beat the human expert's, and the RNN's best of all its seeds in
{EVALUATIONS:,} evaluations: the mean over the seeds, the range in brackets. The paper's figure is the evaluations until
its policy had the placement of its table, on its own costs and graphs. Every run evaluates trivial placements first, so
a figure below five means that one device alone is better.
"""
    lines = [
        "| model | GPUs | expert (s) | RNN's best (s) | method | best (s) | of one device, worst seed "
        "| to pass the expert | to pass the RNN | paper's samples |",
        left_rule(10),
    ]
    for row, outcomes in found.items():
        lines += _lines(row, outcomes)
    return "\n".join([head, *lines, ""])


def _lines(row: Table1Row, found: Mapping[str, Sequence[api.Outcome]]) -> list[str]:
    """A line for each method."""
    expert, rnn = (found[column.label] for column in TO_PASS)
    expert_us = expert[0].own_best_us
    rnn_us = min((us for each in rnn if (us := each.own_best_us)), default=None)
    lines = []
    for column in COMPARED:
        of_method = found[column.label]
        best = [each.step_time_us for each in of_method if each.feasible and each.step_time_us is not None]
        one_device = [
            each.step_time_us / each.one_device_us for each in of_method if each.step_time_us and each.one_device_us
        ]
        first = column == COMPARED[0]
        cells = [
            row.graph if first else "",
            str(row.gpus) if first else "",
            _seconds([expert_us]) if first else "",
            _seconds([rnn_us]) if first else "",
            column.label,
            _seconds(best),
            f"{max(one_device):.3f}" if one_device else "–",
            _needed([evaluations_to_pass(each, expert_us) for each in of_method]),
            _needed([evaluations_to_pass(each, rnn_us) for each in of_method]),
            PAPER_EVALUATIONS.get((row.graph, row.gpus), "–") if first else "",
        ]
        lines.append(table_line(cells))
    return lines


def _seconds(times_us: Sequence[float | None]) -> str:
    known = sorted(time / 1e6 for time in times_us if time is not None)
    if not known:
        return "none"
    least, greatest = f"{known[0]:.3g}", f"{known[-1]:.3g}"
    return f"{fmean(known):.3g}" + (f" ({least}–{greatest})" if least != greatest else "")


def _needed(evaluations: Sequence[int | None]) -> str:
    """Mean and range over the seeds that passed, and the number that did not."""
    known = sorted(each for each in evaluations if each is not None)
    if not known:
        return "never"
    missed = len(evaluations) - len(known)
    span = f" ({known[0]:,}–{known[-1]:,})" if known[0] != known[-1] else ""
    return f"{fmean(known):,.0f}{span}" + (f", {missed} of {len(evaluations)} never" if missed else "")
