"""The policy that ships on problems whose best step time is known: public benchmark graphs, and small ones tried whole.

`python -m experiments known_optima` writes docs/results/known_optima.md; a second call continues where the first
stopped. The public graphs are other people's data, which lie beside the checkout or not at all; the page says so then.
Sources of the graphs and of their figures: DOPPLER (ICLR 2026), Tarnawski et al. (NeurIPS 2020).
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from engine import VERSION, api
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placers.policy_passes import beyond_training, load_network
from engine.placers.registry import PLACERS
from engine.policies.drawn.graphs import drawn_graph
from engine.policies.drawn.shapes import SHAPES
from engine.policies.proposals import proposals
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.traits import is_far
from engine.problem import Budget, PlacementProblem
from engine.settings.fields import number, require_allowed, whole
from engine.settings.making import make_settings
from experiments.auto_check.cases import SHARED
from experiments.best_found import best_one_device_us, ledger_of_run
from experiments.grid import RESULT, KeptResults, Measurement, measure_cells
from experiments.keeping.statistics import mean_over
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.policies.controls.answers import LISTS, best_of, fitting_us, listed, one_device, swept
from experiments.policies.shipped import FILE, auto_us
from experiments.problems import problem_on

COMMAND = "python -m experiments known_optima"
NAME = "known_optima"
PUBLIC: dict[str, float | None] = {"chain_mm": 1200.1, "ffnn": 56.7, "bert_l-3_inference_ops": None}
"""public graph → its lower bound in µs, where one is published; chain_mm reaches it"""
WEIGHTS_ALONE = "bert_l-3_inference_ops"
"""one output of it exceeds the memory of a device, so that memory counts for persistent bytes alone"""
HEAVIER = 10_000
"""by which persistent bytes and memory are multiplied then, so that outputs weigh nothing beside them"""
SMALL_SEED, SMALL_LAYERS, MOST_GROUPS = 5151, 7, 13
"""of the small graphs: of no training; their layers; and a graph of more groups is drawn again"""
WORTH = 0.98
"""so is one whose optimum takes more of the time on one device: there is nothing to find"""
SMALL_CLUSTERS = ("2xK80", "3xK80", "K80+V100", "2xK80+V100")
"""taken in turn; K80 and V100 are names of drawn kinds"""
SLOWER = {"K80": 2.0, "V100": 1.0}
MOST_TRIED = 2_000_000
"""placements of a small graph"""
SAMPLES = 16
LEFT_OUT = "left out"
OPTIMUM = "optimum"
AUTO, AUTO_WITH = "auto", "auto with the policy"
GREEDY, BEST, SWEPT = "greedy pass", f"best of {1 + SAMPLES} passes", "greedy pass and one sweep"
ANSWERS = ("one device", *LISTS, GREEDY, BEST, SWEPT, AUTO, AUTO_WITH)
CLOSE = 1.0 + 1e-6
"""a step time up to so many times the optimum is the optimum"""


@dataclass(frozen=True, slots=True)
class OptimaScope:
    """The defaults are the whole experiment; smaller values make it shorter, and the page shows them."""

    seconds: float = number(2.0, 1e-3, 1e5, "of the processor, for auto, from a process that has loaded the network")
    seeds: int = whole(3, 1, 1000, "runs of auto with the policy, and as many without")
    small: int = whole(20, 1, 1000, "small graphs whose placements are all tried")
    processes: int = whole(2, 1, 1000, "at once")

    def __post_init__(self) -> None:
        require_allowed(self)


def make_optima_scope(settings: Mapping[str, Json]) -> OptimaScope:
    """The scope with these `settings`; the others are the whole experiment's. Raises SettingsError."""
    return make_settings("the experiment", OptimaScope, settings)


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Measure what `folder`/kept/known_optima.jsonl lacks, write the page, and return it."""
    scope = make_optima_scope(settings or {})
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    digest = hashlib.sha256(FILE.read_bytes()).hexdigest()
    keys = {name: key_of(scope, name, digest) for name in names(scope)}
    here = {name: key for name, key in keys.items() if name not in PUBLIC or SHARED.is_dir() or key in kept}
    if len(here) < len(keys):
        report("the public graphs are not here")
    measure_cells(kept, f"{__name__}:in_child", here, scope.processes, report)
    found = {name: kept[key] for name, key in here.items()}
    return write_page(folder, NAME, page(found, scope, kept.made(here.values()), digest))


def names(scope: OptimaScope) -> list[str]:
    """The public graphs, then `small/0`, `small/1`, ..."""
    return [*PUBLIC, *(f"small/{index}" for index in range(scope.small))]


def key_of(scope: OptimaScope, name: str, digest: str) -> Measurement:
    """What a child measures, with the policy of this `digest`."""
    return {"problem": name, "policy": digest, "seconds": scope.seconds, "seeds": scope.seeds}


def in_child(arguments: dict[str, Json], _folder: object, _report_progress: ReportProgress) -> Results:
    """Answer → step times in µs, null for what does not fit; the optimum, where known; `arguments` is the key."""
    order: dict[str, Any] = dict(arguments)
    policy, name = TrainedPolicy.from_bytes(FILE.read_bytes(), FILE.name), order["problem"]
    problem = public_problem(name) if name in PUBLIC else small_problem(int(name.removeprefix("small/")))
    load_network()
    found: dict[str, Json] = {answer: _list(us) for answer, us in quick_us(policy, problem).items()}
    for answer, given in ((AUTO, None), (AUTO_WITH, policy)):
        found[answer] = [auto_us(problem, given, order["seconds"], seed) for seed in range(order["seeds"])]
    found[LEFT_OUT] = is_far(beyond_training(policy, problem))
    found[OPTIMUM] = None if name in PUBLIC else optimum_us(problem)
    return {}, {RESULT: found}


def _list(us: float | None) -> list[Json]:
    return [us]


def public_problem(name: str) -> PlacementProblem:
    """A public graph on its benchmark's cluster, each op by itself."""
    path = SHARED / f"{name}.json"
    prepared = api.prepare(path, path.suffix, lambda *_: None, api.Limits(), None)
    cluster = json.loads(path.with_suffix(".cluster.json").read_text())
    if name == WEIGHTS_ALONE:
        costs = replace(prepared.costs, persistent_bytes=HEAVIER * prepared.costs.persistent_bytes)
        prepared = replace(prepared, costs=costs)
        for device in cluster["devices"]:
            device["memory_bytes"] *= HEAVIER
    return problem_on(prepared, json.dumps(cluster), clock=time.process_time)


def small_problem(index: int) -> PlacementProblem:
    """A drawn graph of so few groups that every placement can be tried, the best of which is not one device."""
    shapes, rng = sorted(SHAPES), np.random.default_rng([SMALL_SEED, index])
    while True:
        prepared = drawn_graph(shapes[rng.integers(len(shapes))], SMALL_LAYERS, SLOWER, rng, trains=index % 2 == 0)
        if prepared.grouping.group_count > MOST_GROUPS:
            continue
        problem = problem_on(prepared, SMALL_CLUSTERS[index % len(SMALL_CLUSTERS)], clock=time.process_time)
        least_us = optimum_us(problem)
        if least_us is not None and least_us <= WORTH * best_one_device_us(problem):
            return problem


def optimum_us(problem: PlacementProblem) -> float | None:
    """The least step time of all placements that fit; None if none fits."""
    ledger = ledger_of_run(problem, Budget(MOST_TRIED), "exhaustive", np.random.default_rng(0))
    assert ledger is not None
    return ledger.best_step_time_us


def quick_us(policy: TrainedPolicy, problem: PlacementProblem) -> dict[str, float | None]:
    """The step time of each answer that takes no search."""
    placements = proposals(policy, problem, np.random.default_rng(0), SAMPLES)
    greedy = best_of(problem, placements[:1])
    tried = {
        "one device": one_device(problem),
        **{method: listed(problem, (method,)) for method in LISTS},
        GREEDY: greedy,
        BEST: best_of(problem, placements),
        SWEPT: swept(problem, greedy),
    }
    return {name: fitting_us(each) for name, each in tried.items()}


def labelled(answer: str) -> str:
    """An answer for people: a method has its label."""
    return PLACERS[answer].label if answer in LISTS else answer


def page(found: Mapping[str, Mapping[str, Any]], scope: OptimaScope, made: str, digest: str) -> str:
    """The page."""
    public = [name for name in PUBLIC if name in found]
    small = [found[name] for name in found if name not in PUBLIC]
    lines = [[labelled(answer), *(_of_public(found[name], answer, name) for name in public)] for answer in ANSWERS]
    bounds = ["lower bound", *(f"{PUBLIC[name]:,.1f} µs" if PUBLIC[name] else "" for name in public)]
    left_out = ["policy left out by auto", *("yes" if found[name][LEFT_OUT] else "no" for name in public)]
    return "\n".join(
        [
            _head(scope, made, digest),
            "",
            "## Public graphs",
            "",
            *table_of_figures(("answer", *public), [*lines, bounds, left_out]),
            "",
            f"## {len(small)} small graphs, beside their optimum",
            "",
            *table_of_figures(("answer", "gap to the optimum", "worst", "optima found"), _of_small(small)),
            "",
        ]
    )


def _head(scope: OptimaScope, made: str, digest: str) -> str:
    return f"""# The policy that ships, where the best step time is known

`{COMMAND}`; Placeto Explorer {VERSION}; {made}; policy with SHA-256 {digest[:12]}….

Auto had {scope.seconds:g} s of one processor, in a process that had loaded the network, seeds 0 to {scope.seeds - 1};
ranges are over seeds. One sweep: each group in turn goes to the device that is best for it then. The policy has seen
none of these graphs, and no graph with a group for each op.

chain_mm and ffnn are of DOPPLER, each op by itself on four devices with independent transfers; bert_l-3 is of
Tarnawski et al. An output of it exceeds a device's memory, so **memory counts for persistent bytes alone** there: they
and the memory are multiplied by {HEAVIER:,}. The small graphs are drawn as in `engine/policies/drawn`, from another
seed than in training, of {SMALL_LAYERS} layers and at most {MOST_GROUPS} groups, on
{", ".join(SMALL_CLUSTERS)} in turn, such that the best placement is at least {1 - WORTH:.0%} faster than one
device; every placement of each was tried."""


def _of_public(row: Mapping[str, Any], answer: str, name: str) -> str:
    """Its step time, the range over seeds, and the gap to the lower bound of the best."""
    times = [us for us in row[answer] if us is not None]
    if not times:
        return "nothing that fits"
    least, most = min(times), max(times)
    shown = f"{least:,.1f}" if most - least < 0.05 else f"{least:,.1f} to {most:,.1f}"
    bound = PUBLIC[name]
    return f"{shown} µs" if bound is None else f"{shown} µs ({least / bound - 1:+.1%})"


def _of_small(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    lines = []
    for answer in ANSWERS:
        gaps = [[us / row[OPTIMUM] - 1 for us in row[answer] if us is not None] for row in rows]
        every = [gap for of_graph in gaps for gap in of_graph]
        optima = sum(1 + gap <= CLOSE for gap in every)
        mean = mean_over([of_graph for of_graph in gaps if of_graph]).as_percent()
        lines.append([labelled(answer), mean, f"{max(every):+.1%}", f"{optima} of {len(every)}"])
    return lines
