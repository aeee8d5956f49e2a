"""How many evaluations a policy trained on one graph of the zoo needs to pass the human expert and the RNN's best.

`python -m experiments zoo_samples` writes docs/results/zoo_samples.{md,json}; a second call continues where the
first stopped. The page also has Post and local search with the same evaluations, and the paper's figures.
Source of the paper's figures: Addanki et al., NeurIPS 2019, Table 1; of the memory: its published sample settings.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from engine import VERSION, api
from experiments.pages import ReportLine, left_rule, table_line, write_page, write_rows
from experiments.table1 import ROWS, Table1Row, show_standing, work_folder
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments zoo_samples"
EVALUATIONS = 2000
SEEDS = 5
MEMORY_BYTES = 8 * 10**9
"""of a device: above it the paper's step times have a penalty, so a larger model needs several devices"""
COMPARED = ("placeto", "post", "local_search")
METHODS = ("human_expert", "rnn", *COMPARED)
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
    """Build the zoo, train and search on each graph, write `folder`/zoo_samples.{md,json}, and return the page."""
    prepared = {name: prepared_zoo_graph(name, report) for name in dict.fromkeys(row.graph for row in ROWS)}
    found = {}
    for row in ROWS:
        report(f"{row.graph} on {row.gpus} GPUs")
        found[row] = _outcomes(prepared[row.graph], row)
    kept = [_raw(row, outcome) for row, outcomes in found.items() for outcome in outcomes]
    write_rows(folder, "zoo_samples", kept)
    return write_page(folder, "zoo_samples", page(found))


def _outcomes(prepared: api.PreparedGraph, row: Table1Row) -> list[api.Outcome]:
    cluster = api.parse_cluster(f"{row.gpus}xK80")
    devices = tuple(dataclasses.replace(device, memory_bytes=MEMORY_BYTES) for device in cluster.devices)
    request = api.ComparisonRequest(
        dataclasses.replace(cluster, devices=devices), METHODS, api.Budget(EVALUATIONS), SEEDS
    )
    work = work_folder(row)
    return api.compare(prepared, request, work.with_name(f"{work.name}-samples"), show_standing)


def _raw(row: Table1Row, outcome: api.Outcome) -> dict[str, api.Json]:
    fields: dict[str, api.Json] = {"graph": row.graph, "gpus": row.gpus}
    return fields | {name: value for name, value in outcome.to_json().items() if name != "device_of_group"}


def evaluations_to_pass(outcome: api.Outcome, step_time_us: float | None) -> int | None:
    """Evaluations until its best was below `step_time_us`; None if it never was, or without a time to pass."""
    if step_time_us is None:
        return None
    return next((evaluations for evaluations, best_us in outcome.curve if best_us < step_time_us), None)


def page(found: dict[Table1Row, list[api.Outcome]]) -> str:
    """The whole page."""
    seeds = 1 + max(outcome.seed for outcomes in found.values() for outcome in outcomes)
    head = f"""# Evaluations to pass the human expert and the RNN

`{COMMAND}`; Placeto Explorer {VERSION}; {EVALUATIONS:,} evaluations a seed,
seeds 0 to {seeds - 1}, default settings, 128 groups, K80s with {MEMORY_BYTES / 1e9:g} GB each, estimated costs. Each
method is trained or run on that graph alone.

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


def _lines(row: Table1Row, outcomes: Sequence[api.Outcome]) -> list[str]:
    """A line for each method."""
    labels = {method.name: method.label for method in api.methods()}
    expert_us = next((each.own_best_us for each in outcomes if each.method == "human_expert"), None)
    rnn_us = min((us for each in outcomes if each.method == "rnn" and (us := each.own_best_us)), default=None)
    lines = []
    for method in COMPARED:
        of_method = [each for each in outcomes if each.method == method]
        best = [each.step_time_us for each in of_method if each.feasible and each.step_time_us is not None]
        one_device = [
            each.step_time_us / each.one_device_us for each in of_method if each.step_time_us and each.one_device_us
        ]
        first = method == COMPARED[0]
        cells = [
            row.graph if first else "",
            str(row.gpus) if first else "",
            _seconds([expert_us]) if first else "",
            _seconds([rnn_us]) if first else "",
            labels[method],
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
