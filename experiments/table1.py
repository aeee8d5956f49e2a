"""The paper's Table 1 on our zoo: simulated steps, every method with the same evaluations.

One part has estimated K80 costs. In the other they are fitted to the paper's two steps on one K80, and NMT's batch is
one at which one K80 is out of memory, as in the paper: see k80_measured.py.

`python -m experiments table1` writes table1.md and table1.json into docs/results/; a second call continues where
the first stopped. Source of the paper's figures: Addanki et al., NeurIPS 2019, Table 1.
"""

import dataclasses
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import VERSION, api
from experiments.k80_measured import KIND, NMT_BATCH, NMT_GPUS, PAPER_SECONDS, PLAIN
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
    kind: str = PLAIN
    batch: int | None = None
    """of the graph; None: its usual one"""

    @property
    def model(self) -> str:
        """The graph with its batch."""
        return self.graph if self.batch is None else f"{self.graph}, batch {self.batch:,}"


ROWS = (
    Table1Row("inception_v3", 2, ("12.54", "1.56", "1.28", "1.54", "1.18", "1.17")),
    Table1Row("inception_v3", 4, ("12.54", "1.56", "1.15", "1.74", "1.13", "1.19")),
    Table1Row("nmt", 2, ("33.5", "OOM", "OOM", "OOM", "2.32", "2.35")),
    Table1Row("nmt_4_layers", 4, ("33.5", "OOM", "OOM", "OOM", "2.63", "3.15")),
    Table1Row("nasnet", 2, ("37.5", "1.28", "0.86", "1.28", "0.86", "0.89")),
    Table1Row("nasnet", 4, ("37.5", "1.28", "0.84", "1.22", "0.74", "0.76")),
)


FITTED_ROWS = tuple(
    dataclasses.replace(row, kind=KIND, batch=NMT_BATCH if row.graph in NMT_GPUS else None) for row in ROWS
)


def run(folder: Path, report: ReportLine) -> str:
    """Build the zoo, compare, write the table, and return it."""
    rows_of_table = (*ROWS, *FITTED_ROWS)
    prepared = {
        (graph, batch): prepared_zoo_graph(graph, report, None if batch is None else {"batch": batch})
        for graph, batch in dict.fromkeys((row.graph, row.batch) for row in rows_of_table)
    }
    found = {}
    for row in rows_of_table:
        report(f"{row.model} on {row.gpus} {row.kind}")
        found[row] = _outcomes(prepared[row.graph, row.batch], row)
    rows = [_facts(row) | outcome.to_json() for row, of in found.items() for outcome in of]
    for row_of_outcome in rows:
        del row_of_outcome["device_of_group"]
    write_rows(folder, "table1", rows)
    return write_page(folder, "table1", _page(found))


def work_folder(row: Table1Row) -> Path:
    """The folder of a line's outcomes, for a second call and for other experiments on the same graphs."""
    name = f"{row.graph}-{row.gpus}" if row.kind == PLAIN else f"{row.graph}-{row.gpus}-{row.kind}"
    return Path(tempfile.gettempdir()) / "placeto-table1" / name


def _facts(row: Table1Row) -> dict[str, api.Json]:
    return {"graph": row.graph, "gpus": row.gpus, "kind": row.kind, "batch": row.batch}


def _outcomes(prepared: api.PreparedGraph, row: Table1Row) -> list[api.Outcome]:
    """The outcomes of all methods: on the GPUs alone, `cpu_only` on a cluster with a CPU."""
    found = []
    for cluster, methods in ((f"{row.gpus}x{row.kind}+cpu", ("cpu_only",)), (f"{row.gpus}x{row.kind}", METHODS)):
        request = api.ComparisonRequest(api.parse_cluster(cluster), methods, api.Budget(EVALUATIONS), SEEDS)
        found += api.compare(prepared, request, work_folder(row), show_standing)
    return found


def show_standing(standing: api.Standing) -> None:
    """One line on a terminal, which the next one overwrites; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r{standing.done}/{standing.total} ", end="", file=sys.stderr, flush=True)


def _table(rows: Sequence[Table1Row], found: dict[Table1Row, list[api.Outcome]]) -> str:
    columns = ("cpu_only", *METHODS)
    labels = {method.name: method.label for method in api.methods()}
    lines = ["| model | GPUs | | " + " | ".join(labels[name] for name in columns) + " |", left_rule(3 + len(columns))]
    for row in rows:
        ours = {name: _cell([each for each in found[row] if each.method == name]) for name in columns}
        if row.kind == KIND and row.graph in PAPER_SECONDS:
            ours["single_device"] += " (fitted)"
        lines.append(table_line([row.model, str(row.gpus), "ours", *ours.values()]))
        lines.append("| | | paper | " + " | ".join(row.paper) + " |" * (len(columns) - len(PAPER_COLUMNS) + 1))
    return "\n".join(lines)


def _page(found: dict[Table1Row, list[api.Outcome]]) -> str:
    labels = {method.name: method.label for method in api.methods()}
    columns = ("cpu_only", *METHODS)
    alone = ", ".join(labels[name] for name in columns if name in ONE_ANSWER)
    return f"""# The paper's Table 1 on our zoo

`{COMMAND}`; Placeto Explorer {VERSION}; {EVALUATIONS} evaluations a seed, seeds 0 to {SEEDS - 1}, default settings, 128
groups. Seconds a step: ours simulated from estimated costs, the mean over the seeds with the range in brackets; the
paper's measured on K80s.

{alone}: shown with their own placements. The other methods may answer with one device, as every run may.

## Fitted costs

The kind {KIND}: efficiency and rest after an op are fitted to the paper's two steps on one K80, so the cells of Single
device marked "fitted" say nothing. NMT has the same figures, and a batch chosen so that one K80 and the expert are out
of memory: [k80_measured.md](k80_measured.md).

{_table(FITTED_ROWS, found)}

## Estimated costs

{_table(ROWS, found)}
"""


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
