"""Published workloads of pipelines: what our methods find for throughput beside the published optimum and rules.

`python -m experiments public_workloads --set folder=PATH` writes docs/results/public_workloads.{md,json}. The workloads
are other people's data, which a person has in a folder: the files of Tarnawski et al. (NeurIPS 2020) as they are
published, an expert's splits among them, or with plain names, and those of DOPPLER (ICLR 2026). Each row is kept, so a
second call continues.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import VERSION
from engine.errors import PlacetoError, SettingsError
from engine.events import Json
from engine.placers.registry import PLACERS, make_placer
from engine.problem import PlacementProblem
from engine.problem.trivial import one_device_placements
from engine.settings.fields import number, require_allowed, text
from engine.settings.making import make_settings
from experiments.auto_check.cases import SHARED
from experiments.folders import below_root
from experiments.grid import KeptResults, Measurement, measure_cells_here
from experiments.pages import ReportLine, table_of_figures, write_page, write_rows
from experiments.public_workloads.pipedream import pipedream_us
from experiments.public_workloads.workloads import KNOWN_BEST, OPTIMUM, Workload, placement_of_nodes, workloads_in

COMMAND = "python -m experiments public_workloads"
NAME = "public_workloads"
ONE_DEVICE, PIPEDREAM, EXPERT = "one device", "PipeDream", "expert"
PROVEN_BY = "proven by "
"""before the method of a row of what is proven"""
BY_RULE = (ONE_DEVICE, PIPEDREAM, EXPERT)
EXACT = "pipeline_dp"
CONTIGUOUS, FREE = "contiguous", "free"
SEARCHES = (("scotch", FREE), (EXACT, CONTIGUOUS), ("auto", CONTIGUOUS), ("auto", FREE))
"""method, and whether its placements must be contiguous"""
PROOFS = ((EXACT, CONTIGUOUS), ("milp", FREE))
"""methods that prove how far their answer is from the optimum, for workloads of up to `MOST_PROVEN` groups"""
MOST_PROVEN = 128
CLOSE = 1e-3
"""relative difference up to which a period is the published one"""
SMALL_GAP = 0.01


@dataclass(frozen=True, slots=True)
class WorkloadScope:
    """The defaults are the whole experiment; smaller values make it shorter, and the page shows them."""

    folder: str = text("", "folder with the workloads' files, in any depth; empty: the one beside the checkout")
    seconds: float = number(10.0, 1e-3, 1e5, "for each method that would search without end")
    proof_seconds: float = number(60.0, 1e-3, 1e5, "for each method that proves how far its answer is from the optimum")

    def __post_init__(self) -> None:
        require_allowed(self)


def make_workload_scope(settings: Mapping[str, Json]) -> WorkloadScope:
    """The scope with these `settings`; the others are the whole experiment's. Raises SettingsError."""
    return make_settings("the experiment", WorkloadScope, settings)


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Measure what `folder`/kept/public_workloads.jsonl lacks, write the page, and return it."""
    scope = make_workload_scope(settings or {})
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    rows: dict[str, dict[str, Any]] = {}
    workloads = {workload.name: workload for workload in workloads_in(_where(scope))}
    if not workloads:
        raise SettingsError("there is no workload", where="folder", allowed="a folder with JSON files of the benchmark")
    keys = {
        name: {answer: key_of(workload, answer, scope) for answer in answers()}
        | {proof: key_of(workload, proof, scope) for proof in proofs_of(workload)}
        for name, workload in workloads.items()
    }
    for name, workload in workloads.items():
        report(name)
        rows[name] = measure_cells_here(kept, keys[name], partial(_measured, workload, scope), report)
    every = [key for of_workload in keys.values() for key in of_workload.values()]
    write_rows(folder, NAME, [dict(key) | {"result": kept[key]} for key in every], indent=1)
    return write_page(folder, NAME, page(workloads, rows, scope, kept.made(every)))


def _where(scope: WorkloadScope) -> Path:
    """The folder with the files. Raises SettingsError if there is none."""
    folder = below_root(scope.folder) if scope.folder else SHARED
    if not folder.is_dir():
        raise SettingsError(f"{folder} is no folder", where="folder", allowed="a folder with the workloads' files")
    return folder


def answers() -> list[str]:
    """The rows of the table: rules, then methods that there are."""
    return [*BY_RULE, *(f"{method}, {kind}" for method, kind in SEARCHES if method in PLACERS)]


def proofs_of(workload: Workload) -> list[str]:
    """The rows of the table of what is proven; none for a large workload."""
    is_small = workload.problem(contiguous=True).group_count <= MOST_PROVEN
    return [f"{PROVEN_BY}{method}, {kind}" for method, kind in PROOFS if method in PLACERS and is_small]


def key_of(workload: Workload, answer: str, scope: WorkloadScope) -> Measurement:
    """What a row measures."""
    proves, method = answer.startswith(PROVEN_BY), answer.removeprefix(PROVEN_BY).partition(",")[0]
    searches = answer not in BY_RULE and not PLACERS[method].deterministic
    seconds = {"seconds": scope.proof_seconds if proves else scope.seconds} if searches or proves else {}
    return {"workload": workload.name, "file": workload.digest, "answer": answer, **seconds}


def _measured(workload: Workload, scope: WorkloadScope, answer: str) -> dict[str, Json]:
    """The period in µs, null where there is none that fits, the seconds that it took, and of a proof the bound."""
    begun = time.perf_counter()
    bound: dict[str, Json] = {}
    if answer.startswith(PROVEN_BY):
        period_us, bound["bound_us"] = proof_of(workload, answer.removeprefix(PROVEN_BY), scope.proof_seconds)
    else:
        period_us = period_of(workload, answer, scope.seconds)
    fits = period_us is not None and np.isfinite(period_us)
    return {"period_us": period_us if fits else None, "seconds": round(time.perf_counter() - begun, 3), **bound}


def proof_of(workload: Workload, answer: str, seconds: float) -> tuple[float | None, float | None]:
    """The best period in µs that a method finds, and what it has proven that no such placement beats."""
    method, _, kind = answer.partition(", ")
    problem = workload.problem(contiguous=kind == CONTIGUOUS, seconds=seconds)
    make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
    return problem.ledger.best_step_time_us, problem.ledger.lower_bound_us


def period_of(workload: Workload, answer: str, seconds: float) -> float | None:
    """The period in µs that `answer` gives; infinite or None where it gives none that fits."""
    if answer == ONE_DEVICE:
        problem = workload.problem(contiguous=True)
        return _best_us(problem, one_device_placements(problem))
    if answer == PIPEDREAM:
        return pipedream_us(workload.problem(contiguous=True))
    if answer == EXPERT:
        problem = workload.problem(contiguous=False)
        split = workload.expert
        return None if split is None else _best_us(problem, placement_of_nodes(workload, problem, split)[None])
    method, _, kind = answer.partition(", ")
    problem = workload.problem(contiguous=kind == CONTIGUOUS, seconds=None if method == EXACT else seconds)
    try:
        make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
    except PlacetoError:
        return None
    return problem.ledger.best_step_time_us


def _best_us(problem: PlacementProblem, placements: NDArray[np.int32]) -> float:
    """The least period of `placements` [batch, groups] that fit; infinite if none does."""
    evaluations = problem.times_of(placements)
    return float(np.where(problem.feasible(evaluations), evaluations.step_time_us, np.inf).min())


def page(
    workloads: Mapping[str, Workload], rows: Mapping[str, Mapping[str, Any]], scope: WorkloadScope, made: str
) -> str:
    """The whole page; `made` says by which state of the code."""
    head = (
        "workload",
        "groups",
        *map(labelled, answers()),
        "seconds of Pipeline DP",
        "published, contiguous",
        "best known",
    )
    lines = [
        [
            name,
            str(workload.problem(contiguous=True).group_count),
            *(_shown(rows[name][answer]["period_us"]) for answer in answers()),
            _seconds(rows[name]),
            _shown(workload.published_us.get(OPTIMUM)),
            _shown(workload.published_us.get(KNOWN_BEST)),
        ]
        for name, workload in workloads.items()
    ]
    parts = [
        _head(scope, made),
        "\n".join(table_of_figures(head, lines)),
        _agreement(workloads, rows),
        *proven(rows, scope),
    ]
    return "\n\n".join(parts) + "\n"


def proven(rows: Mapping[str, Mapping[str, Any]], scope: WorkloadScope) -> list[str]:
    """What is proven of the small workloads: a heading, words and a table; nothing where there are none."""
    found = {
        (name, answer.removeprefix(PROVEN_BY)): row
        for name, of_workload in rows.items()
        for answer, row in of_workload.items()
        if answer.startswith(PROVEN_BY)
    }
    if not found:
        return []
    gaps = {key: _gap(row) for key, row in found.items()}
    lines = [
        [
            name,
            labelled(answer),
            _shown(row["period_us"]),
            _shown(row["bound_us"]),
            f"{100 * gaps[name, answer]:.2f}",
            f"{row['seconds']:.1f}",
        ]
        for (name, answer), row in found.items()
    ]
    words = f"""Workloads of up to {MOST_PROVEN} groups, {scope.proof_seconds:g} s a row. The gap is the most by which
an optimum could be below the period. It is at most {SMALL_GAP:.0%} {_closed(gaps)}."""
    head = ("workload", "method", "period, µs", "proven bound, µs", "gap, %", "seconds")
    return ["## What is proven", words, "\n".join(table_of_figures(head, lines))]


def _closed(gaps: Mapping[tuple[str, str], float]) -> str:
    """On how many workloads each method has a small gap, in words; `gaps` by workload and answer."""
    counts: dict[str, list[bool]] = {}
    for (_, answer), gap in gaps.items():
        counts.setdefault(answer, []).append(gap <= SMALL_GAP)
    return ", and ".join(
        f"on {sum(closed)} of {len(closed)} with {labelled(answer)}" for answer, closed in counts.items()
    )


def _gap(row: Mapping[str, Any]) -> float:
    """By what part of the period the bound is below it; 1 where either is unknown."""
    if row["period_us"] is None or row["bound_us"] is None:
        return 1.0
    return max(0.0, 1.0 - float(row["bound_us"]) / float(row["period_us"]))


def labelled(answer: str) -> str:
    """An answer for people: a method has its label."""
    method, comma, kind = answer.partition(",")
    return f"{PLACERS[method].label}{comma}{kind}" if method in PLACERS else answer


def _head(scope: WorkloadScope, made: str) -> str:
    return f"""# Published workloads of pipelines

`{COMMAND}`; Placeto Explorer {VERSION}; {made}.

The period of each split in µs, for the files of Tarnawski et al. (NeurIPS 2020) and of DOPPLER (ICLR 2026): the load of
the busiest device, where an accelerator also takes the time of what it sends to and receives from host memory.
Accelerators and CPUs as in each file of Tarnawski et al., memory counts weights alone; DOPPLER's have four or eight
accelerators, times by its simulator's scale, and memory without end. No rests. Methods that search had
{scope.seconds:g} s each, seed 0. PipeDream ties what cannot be cut at one place and divides one order; an expert's
split is that of the publication. –: none, or none that fits."""


def _shown(period_us: float | None) -> str:
    return "–" if period_us is None else f"{period_us:,.4f}"


def _seconds(of_workload: Mapping[str, Any]) -> str:
    row = of_workload.get(f"{EXACT}, {CONTIGUOUS}")
    return "–" if row is None else f"{row['seconds']:.1f}"


def _agreement(workloads: Mapping[str, Workload], rows: Mapping[str, Mapping[str, Any]]) -> str:
    """How many of the published optima Pipeline DP reaches."""
    pairs = [
        (rows[name][f"{EXACT}, {CONTIGUOUS}"]["period_us"], workload.published_us[OPTIMUM])
        for name, workload in workloads.items()
        if OPTIMUM in workload.published_us and EXACT in PLACERS
    ]
    equal = sum(found is not None and abs(found / published - 1) <= CLOSE for found, published in pairs)
    if not pairs:
        return "The files say no optimum."
    return f"{labelled(EXACT)} finds {equal} of {len(pairs)} published optima, to {CLOSE:.1%} of them."
