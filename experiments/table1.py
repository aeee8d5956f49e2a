"""The paper's Table 1 on our zoo: simulated steps, every method with the same evaluations.

One part has K80 costs that are fitted to the paper's two steps on one K80, and NMT with a batch at which one K80 is out
of memory, as in the paper: see k80_measured.py. The other has estimated costs. Each row is there with both ways in
which transfers share links: with `bus`, as published, an output leaves a device once, whoever needs it, so broadcasts
are free; with `pair` it is sent to each device.

`python -m experiments table1` writes table1.md and table1.json into docs/results/. It keeps each outcome in
kept/table1.jsonl.gz there, so a second call continues where the first stopped. Source of the paper's figures: Addanki
et al., NeurIPS 2019, Table 1.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from engine import VERSION, api
from engine.clusters.cluster import Contention
from engine.settings.learners import BEST_TRIVIAL
from experiments.grid import KeptResults, Measurement
from experiments.k80_measured import KIND, NMT_BATCH, NMT_GPUS, PAPER_SECONDS, PLAIN
from experiments.keeping.statistics import paired_mean
from experiments.outcomes import Column, KeptProblem, column_of, measure_outcomes, small_facts
from experiments.pages import ReportLine, left_rule, table_line, write_page, write_rows
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments table1"
EVALUATIONS = 2000
SEEDS = 5
CPU_ONLY = column_of("cpu_only")
"""alone has a CPU in its cluster; the others have GPUs only, like the paper's methods"""
COLUMNS = (
    *map(column_of, ("single_device", "human_expert", "scotch", "placeto")),
    column_of("rnn"),
    Column("Placeto, frozen", "placeto", {"frozen": True}),
    *map(column_of, ("post", "local_search", "auto")),
)
OTHERS = tuple(map(column_of, ("hierarchical", "spotlight", "regal", "brkga", "m_topo", "m_etf", "m_sct", "heft")))
"""methods of which the paper's table has nothing; in our table with `bus` alone"""
SHARED_PRIOR = tuple(
    dataclasses.replace(column, label=f"{column.label}, shared prior", settings={"prior": BEST_TRIVIAL})
    for column in map(column_of, ("placeto", "rnn", "hierarchical", "post", "spotlight", "regal", "brkga"))
)
"""the methods that have a prior, each begun from the same one; with `bus` alone"""
PAPER_COLUMNS = 6
"""the paper's columns are the first of ours: CPU only, and five more"""
ONE_DEVICE = 1
"""the column of one device"""
ONE_ANSWER = frozenset({"cpu_only", "single_device", "human_expert", "scotch", "m_topo", "m_etf", "m_sct", "heft"})
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
    contention: Contention = Contention.BUS

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
CONTENTIONS = (Contention.BUS, Contention.PAIR)

STATE_BEFORE_BUFFERS = "ddd2f7283d77"
"""the state of the code that made all rows, and counted a buffer once for each op that passes it on"""
STATES_SINCE = ("a5ff837edca0", "e0e87651aa24", "44509b0cdfdc")
"""later states whose rows count: since then only the structure has changed"""

Found: TypeAlias = Mapping[Table1Row, Mapping[str, Sequence[api.Outcome]]]
"""row → label of the column → its outcomes, one a seed"""


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write the table, and return it."""
    kept = KeptResults(folder / "kept" / "table1.jsonl", also=counts_too)
    zoo = cache(partial(_prepared, report=report))
    found: dict[Table1Row, dict[str, list[api.Outcome]]] = {}
    keys: list[Measurement] = []
    for row in (with_contention(row, each) for row in (*FITTED_ROWS, *ROWS) for each in CONTENTIONS):
        found[row] = {}
        for problem, columns in problems(row, partial(zoo, row.graph, row.batch)):
            found[row] |= measure_outcomes(kept, problem, columns, SEEDS, EVALUATIONS, report)
            keys += [key for key in problem.keys(columns, SEEDS, EVALUATIONS) if key in kept]
    rows = [
        _facts(row, column, each)
        for row in found
        for _, columns in problems(row, partial(zoo, row.graph, row.batch))
        for column in columns
        for each in found[row][column.label]
    ]
    write_rows(folder, "table1", rows)
    return write_page(folder, "table1", _page(found, kept.made(keys)))


def counts_too(key: Measurement, code: str) -> bool:
    """Whether an outcome of an earlier state counts: peaks alone have changed, which decide only rows with a batch."""
    return code in STATES_SINCE or (code == STATE_BEFORE_BUFFERS and ", batch " not in str(key["graph"]))


def _prepared(graph: str, batch: int | None, report: ReportLine) -> api.PreparedGraph:
    return prepared_zoo_graph(graph, report, None if batch is None else {"batch": batch})


def with_contention(row: Table1Row, contention: Contention) -> Table1Row:
    """The row with the other way of sharing links."""
    return dataclasses.replace(row, contention=contention)


def problems(row: Table1Row, make: partial[api.PreparedGraph]) -> list[tuple[KeptProblem, tuple[Column, ...]]]:
    """The two clusters of a row, each with its columns: the GPUs with a CPU for `cpu_only`, and the GPUs alone."""
    found = []
    gpus = f"{row.gpus}x{row.kind}"
    of_gpus = (*COLUMNS, *OTHERS, *SHARED_PRIOR) if row.contention == Contention.BUS else COLUMNS
    for cluster, columns in ((f"{gpus}+cpu", (CPU_ONLY,)), (gpus, of_gpus)):
        changed = dataclasses.replace(api.parse_cluster(cluster), contention=row.contention)
        words = cluster if row.contention == Contention.BUS else f"{cluster}, {row.contention}"
        found.append((KeptProblem(row.model, words, changed, make), columns))
    return found


def _facts(row: Table1Row, column: Column, outcome: api.Outcome) -> dict[str, api.Json]:
    """An outcome as a row of the JSON, with the settings over the defaults."""
    facts: dict[str, api.Json] = {
        "graph": row.graph,
        "gpus": row.gpus,
        "kind": row.kind,
        "batch": row.batch,
        "contention": str(row.contention),
        "settings": dict(column.settings),
    }
    return facts | small_facts(outcome)


def _page(found: Found, made: str) -> str:
    columns = (CPU_ONLY, *COLUMNS)
    alone = ", ".join(column.label for column in (*columns, *OTHERS) if column.method in ONE_ANSWER)
    return f"""# The paper's Table 1 on our zoo

`{COMMAND}`; Placeto Explorer {VERSION}, {made}; {EVALUATIONS:,} evaluations a seed, seeds 0 to {SEEDS - 1}, default
settings, 128 groups. Seconds a step: ours simulated, the mean over the seeds with the range in brackets; the paper's
measured on K80s. Shares of one device: the mean over the seeds and, where they differ, its 95 % interval (Student's t).

{alone}: shown with their own placements. The other methods may answer with one device, as every run may.
"Placeto, frozen" is the same method without learning: what it finds comes from sampling. Methods begin from their
published start; those of "one shared prior" all prefer the best single device at first (`prior={BEST_TRIVIAL}`).
Transfers share links in two ways: with `bus` a device sends an output once, whoever needs it, as in the published
simulator; with `pair` it sends it to each device over a channel of their own.

## Fitted costs

The kind {KIND}: efficiency and rest after an op are fitted to the paper's two steps on one K80, so the cells of Single
device marked "fitted" say nothing. NMT has the same figures, and a batch chosen so that one K80 and the expert are out
of memory: [k80_measured.md](k80_measured.md).

{_part(FITTED_ROWS, columns, found)}

## Estimated costs

{_part(ROWS, columns, found)}
"""


def times_us(outcomes: Sequence[api.Outcome]) -> list[float]:
    """The step times of the seeds that have a feasible placement: a method's own, where it is shown by itself."""
    by_itself = outcomes[0].method in ONE_ANSWER
    times = [each.own_best_us if by_itself else each.step_time_us for each in outcomes if each.feasible]
    return [time for time in times if time is not None]


def seconds_cell(outcomes: Sequence[api.Outcome]) -> str:
    """Mean and range in seconds of the seeds that have a feasible placement."""
    seconds = sorted(time / 1e6 for time in times_us(outcomes))
    if not seconds:
        return nothing_cell(outcomes)
    mean, least, greatest = sum(seconds) / len(seconds), f"{seconds[0]:.3g}", f"{seconds[-1]:.3g}"
    missed = f", {len(outcomes) - len(seconds)} of {len(outcomes)} without" if len(seconds) < len(outcomes) else ""
    return f"{mean:.3g}" + (f" ({least}–{greatest})" if least != greatest else "") + missed


def share_cell(outcomes: Sequence[api.Outcome]) -> str:
    """Mean share of one device's step time, with its interval; a dash where one device is out of memory."""
    one_device_us, times = outcomes[0].one_device_us, times_us(outcomes)
    if not times:
        return nothing_cell(outcomes)
    if one_device_us is None:
        return "–"
    found = paired_mean([time / one_device_us for time in times])
    low, high = f"{found.low:.3f}", f"{found.high:.3f}"
    return f"{found.mean:.3f}" + (f" ({low}–{high})" if len(times) > 1 and low != high else "")


def nothing_cell(outcomes: Sequence[api.Outcome]) -> str:
    """What stands where no seed has a feasible placement."""
    return "none fits" if any(each.step_time_us is not None for each in outcomes) else "no answer"


def papers_share(paper: Sequence[str], text: str) -> str:
    """The paper's step time as a share of its one device."""
    if text == "OOM" or paper[ONE_DEVICE] == "OOM":
        return text if text == "OOM" else "–"
    return f"{float(text) / float(paper[ONE_DEVICE]):.3f}"


@dataclass(frozen=True, slots=True)
class Figure:
    """What the cells of a table show."""

    ours: Callable[[Sequence[api.Outcome]], str]
    papers: Callable[[Sequence[str], str], str]
    """from the paper's line and one of its cells"""


SECONDS = Figure(seconds_cell, lambda _, text: text)
SHARES = Figure(share_cell, papers_share)


def _part(rows: Sequence[Table1Row], columns: Sequence[Column], found: Found) -> str:
    return f"""### Seconds

{_table(rows, columns, found, SECONDS)}

### Shares of one device

{_table(rows, columns, found, SHARES)}

### Other methods: seconds

{_table(rows, OTHERS, found, SECONDS, contentions=(Contention.BUS,))}

### Other methods: shares of one device

{_table(rows, OTHERS, found, SHARES, contentions=(Contention.BUS,))}

### From one shared prior: shares of one device

{_table(rows, SHARED_PRIOR, found, SHARES, contentions=(Contention.BUS,))}"""


def _table(
    rows: Sequence[Table1Row],
    columns: Sequence[Column],
    found: Found,
    figure: Figure,
    *,
    contentions: Sequence[Contention] = CONTENTIONS,
) -> str:
    """A line for each way of sharing links and, below the paper's own methods, the paper's."""
    with_paper = columns[0] == CPU_ONLY
    lines = [table_line(["model", "GPUs", "", *(column.label for column in columns)]), left_rule(3 + len(columns))]
    for row in rows:
        for contention in contentions:
            of_columns = found[with_contention(row, contention)]
            cells = [figure.ours(of_columns[column.label]) for column in columns]
            if figure is SECONDS and with_paper and row.kind == KIND and row.graph in PAPER_SECONDS:
                cells[ONE_DEVICE] += " (fitted)"
            begins = [row.model, str(row.gpus)] if contention == contentions[0] else ["", ""]
            lines.append(table_line([*begins, str(contention), *cells]))
        if with_paper:
            cells = [figure.papers(row.paper, text) for text in row.paper]
            lines.append(table_line(["", "", "paper", *cells, *[""] * (len(columns) - len(cells))]))
    return "\n".join(lines)
