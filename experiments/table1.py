"""The paper's Table 1 on our zoo: estimated K80 costs, simulated steps, every method with the same evaluations.

`python -m experiments table1` writes table1.md and table1.json into docs/results/; a second call continues where
the first stopped. Source of the paper's figures: Addanki et al., NeurIPS 2019, Table 1.
"""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import VERSION, api
from experiments.pages import ReportLine, left_rule, table_line, write_page, write_rows
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments table1"
EVALUATIONS = 2000
SEEDS = 3
METHODS = ("single_device", "human_expert", "scotch", "placeto", "rnn", "post", "local_search", "auto")
"""on GPUs only, like the paper's methods; `cpu_only` alone has a CPU in its cluster"""
PAPER_COLUMNS = ("cpu_only", "single_device", "human_expert", "scotch", "placeto", "rnn")
"""the paper's columns, which are the first of ours"""
ONE_ANSWER = frozenset({"cpu_only", "single_device", "human_expert", "scotch"})
"""shown with their own placement, as in the paper, though every run may answer with one device"""


@dataclass(frozen=True, slots=True)
class Table1Row:
    """A line of the table, with the seconds that the paper measured; `OOM` if the placement did not fit."""

    graph: str
    gpus: int
    paper: tuple[str, ...]
    """[PAPER_COLUMNS] the paper's figures"""


ROWS = (
    Table1Row("inception_v3", 2, ("12.54", "1.56", "1.28", "1.54", "1.18", "1.17")),
    Table1Row("inception_v3", 4, ("12.54", "1.56", "1.15", "1.74", "1.13", "1.19")),
    Table1Row("nmt", 2, ("33.5", "OOM", "OOM", "OOM", "2.32", "2.35")),
    Table1Row("nmt_4_layers", 4, ("33.5", "OOM", "OOM", "OOM", "2.63", "3.15")),
    Table1Row("nasnet", 2, ("37.5", "1.28", "0.86", "1.28", "0.86", "0.89")),
    Table1Row("nasnet", 4, ("37.5", "1.28", "0.84", "1.22", "0.74", "0.76")),
)


def run(folder: Path, report: ReportLine) -> str:
    """Build the zoo, compare, write the table, and return it."""
    prepared = {name: prepared_zoo_graph(name, report) for name in dict.fromkeys(row.graph for row in ROWS)}
    found = {}
    for row in ROWS:
        report(f"{row.graph} on {row.gpus} GPUs")
        found[row.graph, row.gpus] = _outcomes(prepared[row.graph], row)
    rows = [{"graph": graph, "gpus": gpus} | outcome.to_json() for (graph, gpus), of in found.items() for outcome in of]
    for row_of_outcome in rows:
        del row_of_outcome["device_of_group"]
    write_rows(folder, "table1", rows)
    return write_page(folder, "table1", _page(found))


def work_folder(row: Table1Row) -> Path:
    """The folder of a line's outcomes, for a second call and for other experiments on the same graphs."""
    return Path(tempfile.gettempdir()) / "placeto-table1" / f"{row.graph}-{row.gpus}"


def _outcomes(prepared: api.PreparedGraph, row: Table1Row) -> list[api.Outcome]:
    """The outcomes of all methods: on the GPUs alone, `cpu_only` on a cluster with a CPU."""
    found = []
    for cluster, methods in ((f"{row.gpus}xK80+cpu", ("cpu_only",)), (f"{row.gpus}xK80", METHODS)):
        request = api.ComparisonRequest(api.parse_cluster(cluster), methods, api.Budget(EVALUATIONS), SEEDS)
        found += api.compare(prepared, request, work_folder(row), show_standing)
    return found


def show_standing(standing: api.Standing) -> None:
    """One line on a terminal, which the next one overwrites; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r{standing.done}/{standing.total} ", end="", file=sys.stderr, flush=True)


def _page(found: dict[tuple[str, int], list[api.Outcome]]) -> str:
    columns = ("cpu_only", *METHODS)
    labels = {method.name: method.label for method in api.methods()}
    lines = ["| model | GPUs | | " + " | ".join(labels[name] for name in columns) + " |", left_rule(3 + len(columns))]
    for row in ROWS:
        outcomes = found[row.graph, row.gpus]
        ours = [_cell([each for each in outcomes if each.method == name]) for name in columns]
        lines.append(table_line([row.graph, str(row.gpus), "ours", *ours]))
        lines.append("| | | paper | " + " | ".join(row.paper) + " |" * (len(columns) - len(PAPER_COLUMNS) + 1))
    alone = ", ".join(labels[name] for name in columns if name in ONE_ANSWER)
    return f"""# The paper's Table 1 on our zoo

`{COMMAND}`; Placeto Explorer {VERSION}; {EVALUATIONS} evaluations a seed, seeds 0 to {SEEDS - 1}, default settings, 128
groups. Seconds a step: ours simulated from estimated costs, the mean over the seeds with the range in brackets; the
paper's measured on K80s.

{alone}: shown with their own placements. The other methods may answer with one device, as every run may.

""" + "\n".join([*lines, ""])


def _cell(outcomes: Sequence[api.Outcome]) -> str:
    """Mean and range in seconds of the seeds that have a feasible placement."""
    by_itself = outcomes[0].method in ONE_ANSWER
    times = [each.own_best_us if by_itself else each.step_time_us for each in outcomes if each.feasible]
    seconds = sorted(time / 1e6 for time in times if time is not None)
    if not seconds:
        return "none fits" if any(each.step_time_us is not None for each in outcomes) else "no answer"
    mean, least, greatest = sum(seconds) / len(seconds), f"{seconds[0]:.3g}", f"{seconds[-1]:.3g}"
    missed = f", {len(outcomes) - len(seconds)} of {len(outcomes)} without" if len(seconds) < len(outcomes) else ""
    return f"{mean:.3g}" + (f" ({least}–{greatest})" if least != greatest else "") + missed
