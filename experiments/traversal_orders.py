"""Whether a policy still places well if it visits the groups in an order that it was not trained with.

`python -m experiments traversal_orders` writes docs/results/traversal_orders.{md,json}; a second call continues where
the first stopped. It trains a policy on one graph, in topological order or in orders drawn anew for each episode. Then
the policy places the same graph from one device, in orders that it has not seen. Source of the question: Addanki et
al., NeurIPS 2019, section 4.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import VERSION
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placeto.seeing.features import group_graph
from engine.placeto.settings import make_settings
from engine.placeto.training import PlacetoTraining
from engine.placeto.traversals import visiting_orders
from engine.problem import PlacementProblem
from experiments.folders import CACHE
from experiments.grid import RESULT, KeptResults, Measurement, measure_cells
from experiments.keeping.code_state import code_state
from experiments.pages import ReportLine, left_rule, table_line, write_page, write_rows
from experiments.passes import SAMPLES, ends_from_one_device
from experiments.problems import problem_on
from experiments.zoo_graphs import kept_zoo_graph

COMMAND = "python -m experiments traversal_orders"
NAME = "traversal_orders"
WORK = CACHE / "zoo"
"""where the children find the graphs"""
GRAPHS = ("inception_v3", "nmt", "nasnet")
CLUSTER = "2xK80"
SEEDS = (0, 1, 2, 3, 4)
CHILDREN = 2
"""that train at the same time"""
EVALUATIONS = 12_000
TRAINED = ("topological", "mixed")
TESTED = {"topological": 1, "random_topological": 3, "least_urgent_first": 1, "reversed": 1, "random": 3}
"""traversal → number of its orders"""
PASSES = (1, 2)
SETTINGS: dict[str, Json] = {"start": "fastest_device", "stay_weight": 0.0, "torch_device": "cpu"}
"""so that the policy learns to place from the start, not to improve the best placement so far"""


@dataclass(frozen=True, slots=True)
class Placed:
    """One order tried: step times relative to the best one found for the graph with this seed."""

    graph: str
    seed: int
    trained: str
    passes: int
    traversal: str
    greedy: float
    best_of: float
    """of the greedy and the sampled episodes"""


def run(folder: Path, report: ReportLine) -> str:
    """Train and test where a result is missing, write `folder`/traversal_orders.{md,json}, and return the page."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    cells = {f"{graph}, seed {seed}": key_of(graph, seed) for seed in SEEDS for graph in GRAPHS}
    for graph in GRAPHS:
        if any(key["graph"] == graph and key not in kept for key in cells.values()):
            kept_zoo_graph(WORK / code_state(), graph, report)  # the children find it there
    found = measure_cells(kept, "experiments.traversal_orders:place_in_child", cells, CHILDREN, report)
    placed = [Placed(**row) for rows in found.values() for row in rows]
    write_rows(folder, NAME, [asdict(each) for each in placed])
    return write_page(folder, NAME, page(placed, kept.made(cells.values())))


def key_of(graph: str, seed: int) -> Measurement:
    """What a child measures."""
    return {"graph": graph, "cluster": CLUSTER, "settings": {**SETTINGS}, "evaluations": EVALUATIONS, "seed": seed}


def place_in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """One graph with one seed; `arguments` is the key."""
    order: dict[str, Any] = dict(arguments)
    prepared = kept_zoo_graph(WORK / code_state(), order["graph"], lambda _: None)
    problem = problem_on(prepared, order["cluster"], order["evaluations"])
    return {}, {RESULT: [asdict(each) for each in placed_in_orders(order["graph"], problem, order["seed"])]}


def placed_in_orders(name: str, problem: PlacementProblem, seed: int) -> list[Placed]:
    """Train once for each of TRAINED, and try the policies in all orders."""
    graph = group_graph(problem)
    found: list[tuple[str, int, str, NDArray[np.float64]]] = []
    best_us = np.inf
    for trained in TRAINED:
        trained_problem = problem.with_budget(problem.ledger.budget)
        training = PlacetoTraining(
            trained_problem,
            make_settings({**SETTINGS, "traversal": trained}),
            np.random.default_rng(seed),
            lambda: False,
        )
        training.run()
        best_us = min(best_us, trained_problem.ledger.best_time_us)
        for traversal, count in TESTED.items():
            orders = visiting_orders(traversal, graph, count, np.random.default_rng([seed, 1]), seed)
            for order in orders:
                for passes in PASSES:
                    ends = ends_from_one_device(training.actor, graph, np.tile(order, passes), seed)
                    found.append((trained, passes, traversal, problem.simulator.evaluate(ends).step_time_us))
    return [
        Placed(name, seed, trained, passes, traversal, float(times[0] / best_us), float(times.min() / best_us))
        for trained, passes, traversal, times in found
    ]


def page(placed: Sequence[Placed], made: str) -> str:
    """The whole page; `made` says by which state of the code."""
    seeds = sorted({each.seed for each in placed})
    unseen = ", ".join(f"{count} {name}" for name, count in TESTED.items())
    given = ", ".join(f"{name}={value}" for name, value in SETTINGS.items() if name != "torch_device")
    head = f"""# Orders of visiting that the policy has not seen

`{COMMAND}`; Placeto Explorer {VERSION}; {made}; {CLUSTER}, 128 groups, {EVALUATIONS:,} evaluations of training,
seeds {seeds}. Preset `fast` with {given}.

Relative gap of the step time to the best placement that either training found. Orders a seed: {unseen}; drawn orders
are new, not those of the training. `mixed` is random topological and random orders in turn. Mean over orders and seeds;
gap: the mean over all orders; spread: the slowest order's step time relative to the fastest's, the mean over the seeds
and the worst seed. Passes: how often the policy visits the groups, each pass from the placement of the one before.
"""
    traversals = list(TESTED)
    lines = [
        table_line(["graph", "trained with", "passes", "answer", *traversals, "gap", "spread", "worst"]),
        left_rule(7 + len(traversals)),
    ]
    for graph in (*dict.fromkeys(each.graph for each in placed), "all"):
        for trained in TRAINED:
            for passes in PASSES:
                tried = [
                    each
                    for each in placed
                    if graph in (each.graph, "all") and (each.trained, each.passes) == (trained, passes)
                ]
                lines += [_line(graph, trained, passes, answer, tried) for answer in ("greedy", "best_of")]
    return "\n".join([head, *lines, ""])


def _line(graph: str, trained: str, passes: int, answer: str, tried: Sequence[Placed]) -> str:
    label = "greedy" if answer == "greedy" else f"best of {1 + SAMPLES}"
    by_traversal = [
        fmean(getattr(each, answer) for each in tried if each.traversal == traversal) - 1 for traversal in TESTED
    ]
    gap = fmean(getattr(each, answer) for each in tried) - 1
    spreads = [spread(tried, answer, key) for key in dict.fromkeys((each.graph, each.seed) for each in tried)]
    figures = [*by_traversal, gap, fmean(spreads), max(spreads)]
    return table_line([graph, trained, str(passes), label, *(f"{value:.1%}" for value in figures)])


def spread(tried: Sequence[Placed], answer: str, key: tuple[str, int]) -> float:
    """Relative gap of the worst order's step time to the best order's, for one graph and seed."""
    values = [getattr(each, answer) for each in tried if (each.graph, each.seed) == key]
    return float(max(values) / min(values) - 1)
