"""The page of the controls: gaps to the best known on graphs left out of training, by family, and on drawn problems."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Any

from engine import VERSION
from engine.events import Json
from engine.settings.making import make_settings
from experiments.grid import KeptResults, Measurement, measure_cells, of_any_code
from experiments.keeping.statistics import mean_over
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.policies.controls.measuring import (
    CLUSTERS,
    COLUMNS,
    FEWEST_DRAWS,
    KINDS,
    MORE_GRAPHS,
    OF_POLICIES,
    WITHOUT_POLICY,
    ControlsScope,
    places,
    tried_digest,
)

COMMAND = "python -m experiments controls"
NAME = "controls"
MISFIT = 2.0
"""what does not fit counts as so many times the best known"""
FoundAt = Mapping[str, Mapping[str, list[float | None]]]
"""place → answer → a row of `measuring._rows`"""


def make_controls_scope(settings: Mapping[str, Json]) -> ControlsScope:
    """The scope with these `settings`; the others are the whole experiment's. Raises SettingsError."""
    return make_settings("the experiment", ControlsScope, settings)


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Measure what `folder`/kept/controls.jsonl lacks, write the page in `folder`, and return it.

    Trainings of other seconds than usual have a page of their own, `controls_1500s.md`.
    """
    scope = make_controls_scope(settings or {})
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl", also=of_any_code)
    quick = {f"{column}, without a policy": quick_key(scope, column) for column in COLUMNS}
    measure_cells(kept, "experiments.policies.controls.measuring:quick_in_child", quick, scope.processes, report)
    policies = {
        f"{kind}, seed {seed}": policy_key(scope, kind, seed) for seed in range(scope.seeds) for kind in _kinds(scope)
    }
    measure_cells(kept, "experiments.policies.controls.measuring:policy_in_child", policies, scope.processes, report)
    usual = scope.train_seconds == ControlsScope().train_seconds
    return write_page(folder, NAME if usual else f"{NAME}_{scope.train_seconds:g}s", page(kept, scope))


def _kinds(scope: ControlsScope) -> list[str]:
    return scope.kinds.split(",")


def quick_key(scope: ControlsScope, column: str) -> Measurement:
    """What a child measures without a policy."""
    return {"column": column, "scope": {**_decides(scope), "train_seconds": 1.0}, "tried": tried_digest()}


def policy_key(scope: ControlsScope, kind: str, seed: int) -> Measurement:
    """What a child measures of one training."""
    return {"kind": kind, "seed": seed, "scope": _decides(scope), "tried": tried_digest()}


def _decides(scope: ControlsScope) -> dict[str, Json]:
    return {**asdict(scope), "processes": 1, "seeds": 1, "kinds": KINDS[0]}


def page(kept: KeptResults, scope: ControlsScope) -> str:
    """The page with all that has been measured."""
    quick: dict[str, Any] = {}
    for column in COLUMNS:
        quick |= kept[quick_key(scope, column)]
    keys: list[Measurement] = [quick_key(scope, column) for column in COLUMNS]
    trained: dict[str, list[FoundAt]] = {}
    for kind in _kinds(scope):
        of_kind = [policy_key(scope, kind, seed) for seed in range(scope.seeds)]
        trained[kind], keys = [kept[key] for key in of_kind], [*keys, *of_kind]
    best_us = _best_us([quick, *(found for of_kind in trained.values() for found in of_kind)], scope)
    lines = [_line(name, name, [quick], best_us, scope) for name in WITHOUT_POLICY]
    for kind, found in trained.items():
        lines += [_line(f"{name}, {kind}", name, found, best_us, scope) for name in OF_POLICIES]
    head = ("answer", "evaluations", *COLUMNS, "with the sweep: evaluations", *COLUMNS)
    table = table_of_figures(head, lines)
    return "\n".join([_head(scope, kept.made(keys)), "", *table, ""])


def _head(scope: ControlsScope, made: str) -> str:
    return f"""# Controls: answers without a search

`{COMMAND}`; Placeto Explorer {VERSION}; {made}. Kinds were added one after the other; no
later state of the code changes what an earlier kind learns, but trainings of a later one have a few more batches in
their seconds.

Graphs of each family's training split, {scope.graphs} each, were left out of all trainings here, on
{", ".join(CLUSTERS)}; beside them are {scope.drawn} problems that were drawn at random. Figures are relative gaps to
the best of auto with {scope.evaluations:,} evaluations and of all answers here, the mean over graphs, clusters and
{"seed 0 alone" if scope.seeds == 1 else f"seeds 0 to {scope.seeds - 1}"}, with its 95 % interval over graphs; what does
not fit counts as {MISFIT - 1:.0%}, and so does what is further behind; problems on which nothing fits are left out. A
policy is trained on {scope.train_graphs} graphs of each family, all three together, {scope.train_seconds:g} s of one
processor.

- `with drawn problems`: in half of its batches on problems drawn at random, other ones than here.
- `more graphs`: {MORE_GRAPHS} further ones of each family.
- `wider network`: hidden layers of 128 instead of 64. `four updates a batch` instead of two.
- `two learners` side by side, the mean of whose weights is taken every 16 steps: as many seconds on two processors.
- `fewer draws`: late in the training {FEWEST_DRAWS:.0%} of a batch's decisions are drawn; the others take the most
  probable device.
- `credit of single moves`, `expert iteration` and `second passes`: other ways to learn from a batch
  (`experiments/policies/controls/learners.py`).
- `best of 4 in a row`: the greedy pass and three more, each from the end of the one before.
- The sweep puts each group in turn on the device that is best for it then.
- The nearest graph is the training graph with most op names in common; ops go where its ops of their name or scope
  are."""


def _best_us(found: Sequence[FoundAt], scope: ControlsScope) -> dict[str, float]:
    """The least step time at each place where something fits, of all answers with and without the sweep."""

    def at(place: str) -> float:
        known = [row[column] for each in found for row in each[place].values() for column in (0, 2)]
        return min((each for each in known if each is not None), default=inf)

    found_us = {place.name: at(place.name) for place in places(scope)}
    return {name: us for name, us in found_us.items() if us < inf}


def _line(
    label: str, name: str, found: Sequence[FoundAt], best_us: Mapping[str, float], scope: ControlsScope
) -> list[str]:
    """A row: the answer `name` as it is found, and after a sweep."""
    cells = [label]
    for step_time, evaluations in ((0, 1), (2, 3)):
        counts = [
            each[place.name][name][evaluations] for each in found for place in places(scope) if name in each[place.name]
        ]
        cells.append(f"{fmean(float(count or 0) for count in counts):,.0f}")
        for column in COLUMNS:
            by_graph: dict[int, list[float]] = {}
            for each in found:
                for place in places(scope, (column,)):
                    if name in each[place.name] and place.name in best_us:
                        gap = _gap(each[place.name][name][step_time], best_us[place.name])
                        by_graph.setdefault(place.graph, []).append(gap)
            cells.append(mean_over(list(by_graph.values())).as_percent() if by_graph else "–")
    return cells


def _gap(step_time_us: float | None, best_us: float) -> float:
    return MISFIT - 1 if step_time_us is None else min(MISFIT, step_time_us / best_us) - 1
