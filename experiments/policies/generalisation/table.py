"""The page on one policy for all: gaps to the best known, beside list schedules and a search, by policy and column.

`python -m experiments generalisation` writes docs/results/generalisation.md; a second call continues where the first
stopped. Policies are kept in the work folder, and trained again if they are lost before they are measured.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from engine import VERSION
from engine.events import Json
from engine.policies.trained_policy import POLICY_VERSION
from engine.settings.making import make_settings
from experiments.folders import CACHE
from experiments.grid import KeptResults, MadeFiles, Measurement, measure_cells
from experiments.keeping.code_state import code_state
from experiments.keeping.statistics import mean_over
from experiments.leveled import compile_all, graph_named
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.policies.generalisation.measuring import (
    BEST,
    COLD_SECONDS,
    COLUMNS,
    GREEDY,
    LISTED,
    ONE_DEVICE,
    OTHER,
    PASS_SECONDS,
    PLACES,
    RECIPE,
    SEARCH,
    SHIPPED,
    WITH_POLICY,
    ZOO,
    GeneralisationScope,
    PolicyTraining,
    trainings,
)
from experiments.policies.generalisation.other_kinds import OTHER_KINDS
from experiments.policies.scope import digest
from experiments.policies.shipped import FAMILIES, FILE, ZOO_GRAPHS

COMMAND = "python -m experiments generalisation"
NAME = "generalisation"
MISFIT = 2.0
"""what does not fit counts as so many times the best known"""
WORK = CACHE / NAME
CHILD = "experiments.policies.generalisation.measuring"
Answers: TypeAlias = Mapping[str, Mapping[str, Any]]
"""place → answer → step times in µs"""
OF_POLICY = ((GREEDY, 0), (GREEDY, 1), (BEST, 0), (BEST, 1))
"""answers of a policy, with and without the sweep"""


def make_generalisation_scope(settings: Mapping[str, Json]) -> GeneralisationScope:
    """The scope with these `settings`; the others are the whole experiment's. Raises SettingsError."""
    return make_settings("the experiment", GeneralisationScope, settings)


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Measure what `folder`/kept/generalisation.jsonl lacks, write the page, and return it."""
    scope = make_generalisation_scope(settings or {})
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    alone = {f"{column}, without a policy": alone_key(scope, column) for column in COLUMNS}
    of_policies = {
        (training, column): policy_key(scope, training, column) for training in trainings(scope) for column in COLUMNS
    }
    if any(key not in kept for key in [*alone.values(), *of_policies.values()]):
        for name in ZOO_GRAPHS:
            graph_named(f"{ZOO}/{name}", report)  # the children find them
        compile_all(report)
    measure_cells(kept, f"{CHILD}:alone_in_child", alone, scope.processes, report)
    missing = [training for (training, _), key in of_policies.items() if key not in kept]
    train_missing(scope, list(dict.fromkeys(missing)), report)
    for training in dict.fromkeys(missing):
        orders = {
            f"{training.name}, {column}": of_policies[training, column]
            for column in COLUMNS
            if of_policies[training, column] not in kept
        }
        beside: dict[str, Json] = {} if training.without == SHIPPED else {"path": str(policy_path(scope, training))}
        measure_cells(kept, f"{CHILD}:policy_in_child", orders, scope.processes, report, beside=beside)
    return write_page(folder, NAME, page(kept, scope))


def train_missing(scope: GeneralisationScope, wanted: Sequence[PolicyTraining], report: ReportLine) -> None:
    """Train the policies that have no file in the work folder; `processes` at a time."""
    cells: dict[str, Measurement] = {
        training.name: {
            "scope": asdict(scope),
            "without": training.without,
            "seed": training.seed,
            "path": str(policy_path(scope, training)),
        }
        for training in wanted
        if training.without != SHIPPED
    }
    files = MadeFiles(lambda key: Path(str(key["path"])))
    measure_cells(files, f"{CHILD}:train_in_child", cells, scope.processes, report)


def policy_path(scope: GeneralisationScope, training: PolicyTraining) -> Path:
    """The file of a policy, which depends on the code and the settings that made it."""
    known: list[Json] = [code_state(), POLICY_VERSION, *_decides_training(scope, training).values()]
    return WORK / f"{training.without or 'all'}-{training.seed}-{digest(known)}.safetensors"


def _decides_training(scope: GeneralisationScope, training: PolicyTraining) -> dict[str, Json]:
    if training.without == SHIPPED:
        return {"policy": hashlib.sha256(FILE.read_bytes()).hexdigest()}
    return {
        "without": training.without,
        "seed": training.seed,
        "train_seconds": scope.train_seconds,
        "train_graphs": scope.train_graphs,
        **RECIPE,
    }


def _graphs(scope: GeneralisationScope, column: str) -> int:
    return scope.graphs if column in FAMILIES else 1


def alone_key(scope: GeneralisationScope, column: str) -> Measurement:
    """What a child measures without a policy."""
    return {"column": column, "graphs": _graphs(scope, column), "seconds": scope.search_seconds}


def policy_key(scope: GeneralisationScope, training: PolicyTraining, column: str) -> Measurement:
    """What a child measures of one policy."""
    return {
        "column": column,
        "graphs": _graphs(scope, column),
        "seconds": scope.policy_seconds,
        **_decides_training(scope, training),
    }


def page(kept: KeptResults, scope: GeneralisationScope) -> str:
    """The page with all that has been measured."""
    alone: dict[str, Answers] = {column: kept[alone_key(scope, column)] for column in COLUMNS}
    policies = {
        training: {column: kept[policy_key(scope, training, column)] for column in COLUMNS}
        for training in trainings(scope)
    }
    keys = [alone_key(scope, column) for column in COLUMNS]
    keys += [policy_key(scope, training, column) for training in policies for column in COLUMNS]
    best_us = _best_us(alone, policies.values())
    sets = {
        SHIPPED: [PolicyTraining(SHIPPED, 0)],
        "all families": [each for each in policies if each.without == ""],
        "family left out": [each for each in policies if each.without in FAMILIES],
    }
    lines = [_line(name, _row_alone(alone, name), best_us) for name in (ONE_DEVICE, LISTED, SEARCH)]
    for name, members in sets.items():
        found = {column: _of_members(policies, members, column) for column in COLUMNS}
        if not any(found.values()):
            continue
        for answer, swept in OF_POLICY:
            label = f"{name}: {answer}{', swept' * swept}"
            lines.append(_line(label, _row_of(found, _answer(answer, swept)), best_us))
        label = f"{name}: auto with it, {scope.policy_seconds:g} s"
        lines.append(_line(label, _row_of(found, lambda row: row[WITH_POLICY]), best_us))
    return "\n".join(
        [
            _head(scope, kept.made(keys)),
            "",
            *table_of_figures(("answer", *COLUMNS), lines),
            "",
            "## Beside the others",
            "",
            *table_of_figures(("policy, beside", *COLUMNS), _beside(alone, policies, sets, scope)),
            "",
            "## A greedy pass beside the best list schedule, by other kinds",
            "",
            *table_of_figures(("policy", *OTHER_KINDS), _by_kind(alone, policies, sets)),
            "",
        ]
    )


def _head(scope: GeneralisationScope, made: str) -> str:
    return f"""# One policy for all

`{COMMAND}`; Placeto Explorer {VERSION}; {made}.

Relative gaps to the best of all answers here, the mean with its 95 % interval over graphs, in brackets the gap within
which nine in ten are; what does not fit counts as {MISFIT - 1:.0%}, and so does what is further behind.
{scope.graphs} held-out graphs of each family on 2 K80s, 4 K80s, 8 V100s, and 2 V100s with 2 K80s; the zoo on the first
three; 40 graphs of {", ".join(OTHER_KINDS)}, an op a group, forward alone, by a generator of no training.

{_trained_words(scope)}`{SHIPPED}`: the policy in policies/default.safetensors. Swept: each group in turn went to the
device that was best for it then. Search alone: auto without a policy, {scope.search_seconds:g} s of one processor. Auto
with a policy has its features and passes within its seconds, in a process that had loaded the network."""


def _trained_words(scope: GeneralisationScope) -> str:
    """What the page says of the trainings, where there are any."""
    words = ""
    if scope.seeds:
        words = f"""`all families`: {scope.seeds} trainings, {scope.train_seconds:g} s of one processor each, on
{scope.train_graphs} graphs of each family and, in {RECIPE["drawn_share"]:.0%} of the batches, on drawn problems. """
    if scope.left_out_seeds:
        words += f"""`family left out`: {scope.left_out_seeds} such training
without each family and without the drawn shapes that are like it; a family's column is of the policy that has not seen
it, the others are of all three. """
    return words


def _best_us(alone: Mapping[str, Answers], policies: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    """(column, place) → the least step time of all answers."""
    best: defaultdict[tuple[str, str], float] = defaultdict(lambda: inf)

    def see(column: str, place: str, us: float | None) -> None:
        if us is not None:
            best[column, place] = min(best[column, place], us)

    for column, answers in alone.items():
        for place, row in answers.items():
            for us in row.values():
                see(column, place, us)
    for columns in policies:
        for column, found in columns.items():
            for place, row in found[PLACES].items():
                for us in (*row[GREEDY], *row[BEST], row[WITH_POLICY]):
                    see(column, place, us)
    return dict(best)


Cells: TypeAlias = dict[str, list[tuple[str, float | None]]]
"""column → (place, step time in µs, None for what does not fit), over all policies of a row"""


def _row_alone(alone: Mapping[str, Answers], name: str) -> Cells:
    return {column: [(place, row[name]) for place, row in answers.items()] for column, answers in alone.items()}


def _row_of(found: Mapping[str, list[Answers]], of_row: Callable[[Mapping[str, Any]], float | None]) -> Cells:
    return {
        column: [(place, of_row(row)) for answers in members for place, row in answers.items()]
        for column, members in found.items()
    }


def _answer(name: str, swept: int) -> Callable[[Mapping[str, Any]], float | None]:
    """From a row to the step time of a policy's answer, after the sweep if `swept` is 1."""
    return lambda row: row[name][swept]


def _of_members(
    policies: Mapping[PolicyTraining, Mapping[str, Any]], members: Sequence[PolicyTraining], column: str
) -> list[Answers]:
    """The answers of these policies in a column; in a family's those alone that count there."""
    left_out = {each.without for each in members} & set(FAMILIES)
    counting = [each for each in members if column not in left_out or each.without == column]
    return [policies[each][column][PLACES] for each in counting]


def _graph_of(place: str) -> str:
    return place.split(" on ")[0]


def _mean(pairs: Sequence[tuple[str, float]]) -> str:
    """The mean over graphs, with its interval."""
    by_graph: defaultdict[str, list[float]] = defaultdict(list)
    for place, value in pairs:
        by_graph[_graph_of(place)].append(value)
    return mean_over(list(by_graph.values())).as_percent()


def _line(label: str, cells: Cells, best_us: Mapping[tuple[str, str], float]) -> list[str]:
    line = [label]
    for column in COLUMNS:
        gaps = [
            (place, MISFIT - 1 if us is None else min(MISFIT, us / best_us[column, place]) - 1)
            for place, us in cells[column]
        ]
        if not gaps:
            line.append("–")
            continue
        line.append(f"{_mean(gaps)} [{np.quantile([gap for _, gap in gaps], 0.9):.1%}]")
    return line


def _beside(
    alone: Mapping[str, Answers],
    policies: Mapping[PolicyTraining, Mapping[str, Any]],
    sets: Mapping[str, Sequence[PolicyTraining]],
    scope: GeneralisationScope,
) -> list[list[str]]:
    lines = []
    for name, members in sets.items():
        if not members:
            continue
        found = {column: _of_members(policies, members, column) for column in COLUMNS}
        pairs = (
            (f"{name}: greedy pass, best list schedule", _answer(GREEDY, 0), LISTED),
            (
                f"{name}: auto with it, {scope.policy_seconds:g} s, search alone, {scope.search_seconds:g} s",
                lambda row: row[WITH_POLICY],
                SEARCH,
            ),
        )
        for label, of_row, other in pairs:
            lines.append([label, *(_difference(found[column], alone[column], of_row, other) for column in COLUMNS)])
        seconds = [f"{_quantile(found[column], 0.5):.3f} ({_quantile(found[column], 1.0):.3f})" for column in COLUMNS]
        lines.append([f"{name}: seconds of a greedy pass, median (most)", *seconds])
        cold = [max(float(policies[each][column][COLD_SECONDS]) for each in members) for column in COLUMNS]
        lines.append([f"{name}: the same in a new process, most", *(f"{each:.1f}" for each in cold)])
    return lines


def _quantile(members: Sequence[Answers], share: float) -> float:
    return float(np.quantile([row[PASS_SECONDS] for answers in members for row in answers.values()], share))


def _difference(
    members: Sequence[Answers], alone: Answers, of_row: Callable[[Mapping[str, Any]], float | None], other: str
) -> str:
    """The mean relative difference to `other`, where both fit; below 0 the policy is ahead."""
    pairs = []
    for answers in members:
        for place, row in answers.items():
            own, theirs = of_row(row), alone[place][other]
            if own is not None and theirs is not None:
                pairs.append((place, own / theirs - 1))
    return _mean(pairs) if pairs else "–"


def _by_kind(
    alone: Mapping[str, Answers],
    policies: Mapping[PolicyTraining, Mapping[str, Any]],
    sets: Mapping[str, Sequence[PolicyTraining]],
) -> list[list[str]]:
    """The greedy pass beside the graph's best list schedule, by kind of graph."""
    lines = []
    for name, members in sets.items():
        if not members:
            continue
        cells = []
        for kind in OTHER_KINDS:
            found = [
                {place: row for place, row in answers.items() if place.startswith(f"{kind}/")}
                for answers in _of_members(policies, members, OTHER)
            ]
            cells.append(_difference(found, alone[OTHER], _answer(GREEDY, 0), LISTED))
        lines.append([name, *cells])
    return lines
