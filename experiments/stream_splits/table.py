"""Streams of micro-batches: what rules of other tools, PipeDream, Pipeline DP and Auto make of whole models.

`python -m experiments stream_splits` writes docs/results/stream_splits.{md,json}. It records or builds each model, and
simulates a batch of `MICRO_BATCHES` for the placement of each method. A rule has its own placement alone; a search has
`EVALUATIONS` evaluations and answers with the shortest batch among its good placements, one device among them. Each
row is kept in kept/stream_splits.jsonl there, so a second call continues where the first stopped.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import VERSION, api
from engine.placers.registry import make_placer
from engine.problem import PlacementProblem
from engine.problem.making import problem_of
from engine.problem.trivial import one_device_placements
from engine.simulator.streams.figures import US_IN_A_SECOND
from experiments.grid import KeptResults, Measurement, measure_cells_here, write_known
from experiments.pages import ReportLine, table_of_figures
from experiments.stream_splits.models import MODELS, StreamedModel
from experiments.stream_splits.rivals import pipedream, torchtitan

COMMAND = "python -m experiments stream_splits"
NAME = "stream_splits"
MICRO_BATCHES = 16
EVALUATIONS = 5000
GIB = 2**30


@dataclass(frozen=True, slots=True)
class Splitter:
    """A column of the table."""

    label: str
    search: str = ""
    """the method of a run; else a rule"""
    contiguous: bool = True
    rule: Callable[[PlacementProblem], NDArray[np.int32]] | None = None
    """[groups] the placement of a rule"""


def of_engine(method: str, problem: PlacementProblem) -> NDArray[np.int32]:
    """[groups] the placement of a method that makes one by a rule."""
    make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
    return problem.ledger.answer()


def one_device(problem: PlacementProblem) -> NDArray[np.int32]:
    """[groups] the best single device: that with the shortest batch among those where it fits, if any."""
    placements = one_device_placements(problem)
    batches = [problem.simulator.batch(placement) for placement in placements]
    missing = [int(np.maximum(batch.peak_bytes - problem.memory_bytes, 0).max()) for batch in batches]
    ranks = [(lacks, batch.batch_time_us) for lacks, batch in zip(missing, batches, strict=True)]
    best: NDArray[np.int32] = placements[ranks.index(min(ranks))]
    return best


SPLITTERS: Mapping[str, Splitter] = {
    "one_device": Splitter("one device", rule=one_device),
    "even_layers": Splitter("equal layers", rule=partial(of_engine, "even_layers")),
    "balanced_parameters": Splitter("balanced parameters", rule=partial(of_engine, "balanced_parameters")),
    "accelerate_auto": Splitter("accelerate `balanced`", rule=partial(of_engine, "accelerate_auto")),
    "torchtitan": Splitter("torchtitan", rule=torchtitan),
    "pipedream": Splitter("PipeDream", rule=pipedream),
    "pipeline_dp": Splitter("Pipeline DP", search="pipeline_dp"),
    "auto_contiguous": Splitter("Auto, contiguous", search="auto"),
    "auto_free": Splitter("Auto, free", search="auto", contiguous=False),
}
OURS = ("pipeline_dp", "auto_contiguous", "auto_free")


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/stream_splits.{md,json} after each model, and return the page."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    for model in MODELS:
        prepare = cache(model.prepare)
        for cluster in model.clusters:
            report(f"{model.name} on {cluster}")
            cells = {name: key_of(model, cluster, name) for name in SPLITTERS}
            measure_cells_here(kept, cells, partial(_measured, model, prepare, cluster), report)
        write_known(folder, NAME, kept, all_keys(), page)
    return write_known(folder, NAME, kept, all_keys(), page)


def key_of(model: StreamedModel, cluster: str, splitter: str) -> Measurement:
    """What a row measures."""
    return {
        "model": model.name,
        "step": model.step,
        "samples": model.samples,
        "cluster": cluster,
        "split": splitter,
        "micro_batches": MICRO_BATCHES,
        "pipeline": str(model.pipeline),
        "evaluations": EVALUATIONS if SPLITTERS[splitter].search else 1,
        "seed": 0,
    }


def _measured(
    model: StreamedModel, prepare: Callable[[], api.PreparedGraph], cluster: str, splitter: str
) -> dict[str, api.Json]:
    return row_of(prepare(), model, cluster, SPLITTERS[splitter])


def row_of(
    prepared: api.PreparedGraph, model: StreamedModel, cluster_words: str, splitter: Splitter
) -> dict[str, api.Json]:
    """The batch of a method's placement, its rate and its memory."""
    cluster = api.parse_cluster(cluster_words)
    stream = api.Stream(MICRO_BATCHES, model.pipeline, splitter.contiguous and bool(splitter.search))
    problem = dataclasses.replace(problem_of(prepared, cluster), stream=stream)
    try:
        placement = _placement(prepared, problem, splitter)
    except api.InfeasibleError as error:
        return {"ops": prepared.graph.op_count, "fits": False, "reason": str(error)}
    batch = problem.simulator.batch(placement)
    return {
        "ops": prepared.graph.op_count,
        "groups": prepared.grouping.group_count,
        "fits": bool((batch.peak_bytes <= problem.memory_bytes).all()),
        "batch_time_us": batch.batch_time_us,
        "period_us": float(problem.simulator.evaluate(placement[None, :]).step_time_us[0]),
        "samples_per_second": model.samples * MICRO_BATCHES * US_IN_A_SECOND / batch.batch_time_us,
        "stages": len(batch.stages),
        "is_contiguous": batch.stages.is_contiguous,
        "devices_used": len(np.unique(placement)),
        "peak_bytes": batch.peak_bytes.tolist(),
    }


def _placement(prepared: api.PreparedGraph, problem: PlacementProblem, splitter: Splitter) -> NDArray[np.int32]:
    """[groups] the placement of a rule, or the answer of a search."""
    if splitter.rule is not None:
        return splitter.rule(problem)
    budget, stream = api.Budget(EVALUATIONS), problem.stream
    request = api.RunRequest(problem.cluster, splitter.search, budget, seed=0, robustness=False, stream=stream)
    answer = api.place(prepared, request, lambda _: None, lambda: False)
    device_of_op = prepared.device_of_op(api.placement_of_report(answer))
    found = np.zeros(problem.group_count, np.int32)
    found[problem.grouping.group_of_op] = device_of_op
    return found


def all_keys() -> Iterator[Measurement]:
    """Every cell of the table."""
    for model in MODELS:
        for cluster in model.clusters:
            yield from (key_of(model, cluster, splitter) for splitter in SPLITTERS)


def page(rows: Sequence[Mapping[str, Any]], made: str) -> str:
    """The whole page; `made` says by which state of the code."""
    cases = cases_of(rows)
    head = ("model", "step", "samples", "devices", *(splitter.label for splitter in SPLITTERS.values()))
    lines = [[*_case_words(case), *(_rate(rows_of.get(name)) for name in SPLITTERS)] for case, rows_of in cases.items()]
    memory = [
        [*_case_words(case), *(_most(rows_of.get(name)) for name in SPLITTERS)] for case, rows_of in cases.items()
    ]
    parts = [
        "# Streams of micro-batches: rules of other tools, and what a search finds",
        "For those who divide a model into stages by hand, by layers or by parameters today.",
        f"`{COMMAND}`; Placeto Explorer {VERSION}, {made}. Batches of {MICRO_BATCHES} micro-batches are simulated,\n"
        "training by 1f1b, inference in a row; op times follow from operations and bytes, so compare columns, not\n"
        "machines. A rule has its own placement alone, simulated as it is, contiguous or not. Pipeline DP and Auto\n"
        f"have {EVALUATIONS:,} evaluations, seed 0; the shortest batch of their good placements and one device is\n"
        "the answer. A rate with * does not fit in memory. GPT-2 and BART tie embedding and head, which then share a\n"
        "device, so that no contiguous split has several.",
        "## Samples a second\n\n" + "\n".join(table_of_figures(head, lines)),
        "## Most memory of a device over the batch, GiB\n\n" + "\n".join(table_of_figures(head, memory)),
        _summed_up(cases),
    ]
    return "\n\n".join(parts) + "\n"


Situation = tuple[str, str, int, str]
"""model, step, samples of a micro-batch, cluster"""


def cases_of(rows: Sequence[Mapping[str, Any]]) -> dict[Situation, dict[str, Mapping[str, Any]]]:
    """Situation → split → row."""
    cases: dict[Situation, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        case = (row["model"], row["step"], row["samples"], row["cluster"])
        cases.setdefault(case, {})[row["split"]] = row
    return cases


def _case_words(case: Situation) -> list[str]:
    return [case[0], case[1], str(case[2]), case[3]]


def _rate(row: Mapping[str, Any] | None) -> str:
    if row is None or "samples_per_second" not in row:
        return "none fits" if row else "–"
    return f"{row['samples_per_second']:.4g}{'' if row['fits'] else '*'}"


def _most(row: Mapping[str, Any] | None) -> str:
    return f"{max(row['peak_bytes']) / GIB:.1f}" if row and "peak_bytes" in row else "–"


def _summed_up(cases: Mapping[Situation, Mapping[str, Mapping[str, Any]]]) -> str:
    """For each other way: how often it does not fit, and by what part the best of ours is ahead where it does."""
    lines = ["## In short", ""]
    for name, splitter in SPLITTERS.items():
        if name in OURS:
            continue
        known = [case for case in cases.values() if name in case and _best_rate(case) is not None]
        fitting = [case for case in known if case[name]["fits"]]
        gains = [100 * ((_best_rate(case) or 0.0) / case[name]["samples_per_second"] - 1) for case in fitting]
        words = f"{len(known) - len(fitting)} of {len(known)} do not fit"
        if gains:
            middle = float(np.median(gains))
            words += f"; where they do, ours has {min(gains):.1f} to {max(gains):.0f} % more samples a second, "
            words += f"in the median {middle:.1f} %"
        lines.append(f"- {splitter.label}: {words}.")
    return "\n".join(lines)


def _best_rate(case: Mapping[str, Mapping[str, Any]]) -> float | None:
    """Samples a second of the better of Auto's two answers; None where neither is there or fits."""
    rates = [case[name]["samples_per_second"] for name in OURS[1:] if name in case and case[name]["fits"]]
    return max(rates, default=None)
