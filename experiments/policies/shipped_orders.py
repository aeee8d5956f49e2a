"""Whether the policy that ships places as well if it visits the groups in other orders.

`python -m experiments shipped_orders` writes docs/results/shipped_orders.md; a second call continues where the first
stopped. `--set` makes it smaller. Source of the question: Addanki et al., NeurIPS 2019, section 4.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine import VERSION
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placers.policy_passes import load_network
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import PlacementProblem
from experiments.grid import RESULT, KeptResults, Measurement, measure_cells
from experiments.keeping.statistics import mean_over
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.policies.controls.answers import in_orders
from experiments.policies.shipped import (
    FAMILY_CLUSTERS,
    FILE,
    ZOO_CLUSTERS,
    ZOO_GRAPHS,
    MeasuredPart,
    ShippedScope,
    keep_zoo_graphs,
    make_shipped_scope,
    parts,
    problems_of_part,
)
from experiments.traversal_orders import TESTED

COMMAND = "python -m experiments shipped_orders"
NAME = "shipped_orders"
USUAL = "topological"
"""the order of the passes of a run"""
TimesByOrder = Mapping[str, Sequence[float | None]]
"""traversal → step time in µs of the greedy pass in each of its orders; None for what does not fit"""


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Measure what `folder`/kept/shipped_orders.jsonl lacks, write the page, and return it."""
    scope = make_shipped_scope(settings or {})
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    digest = hashlib.sha256(FILE.read_bytes()).hexdigest()
    orders = {f"{part.column}, {part.graph}": key_of(scope, part, digest) for part in parts(scope)}
    keep_zoo_graphs({part: key_of(scope, part, digest) for part in parts(scope)}, kept, report)
    measure_cells(kept, f"{__name__}:in_child", orders, scope.processes, report)
    columns: dict[str, list[dict[str, TimesByOrder]]] = {}
    for part in parts(scope):
        columns.setdefault(part.column, []).append(kept[key_of(scope, part, digest)])
    return write_page(folder, NAME, page(columns, scope, kept.made(orders.values()), digest))


def key_of(scope: ShippedScope, part: MeasuredPart, digest: str) -> Measurement:
    """What a child measures, with the policy of this `digest`."""
    return {**part._asdict(), "policy": digest, "drawn": scope.drawn, "orders": {**TESTED}}


def in_child(arguments: dict[str, Json], _folder: object, _report_progress: ReportProgress) -> Results:
    """Problem → traversal → step times in µs; `arguments` is the key."""
    order: dict[str, Any] = dict(arguments)
    policy = TrainedPolicy.from_bytes(FILE.read_bytes(), FILE.name)
    load_network()
    scope = ShippedScope(drawn=order["drawn"])
    found: dict[str, Json] = {
        name: {traversal: [*times] for traversal, times in times_by_order(policy, problem).items()}
        for name, problem in problems_of_part(scope, MeasuredPart(order["column"], order["graph"]))
    }
    return {}, {RESULT: found}


def times_by_order(policy: TrainedPolicy, problem: PlacementProblem) -> dict[str, list[float | None]]:
    """Traversal → the step times of greedy passes in its orders."""
    found = {}
    for number, (traversal, count) in enumerate(TESTED.items()):
        placements = in_orders(policy, problem, np.random.default_rng(number), count, traversal)
        evaluations = problem.simulator.evaluate(placements)
        pairs = zip(evaluations.step_time_us.tolist(), problem.feasible(evaluations), strict=True)
        found[traversal] = [us if fits else None for us, fits in pairs]
    return found


def page(
    columns: Mapping[str, Sequence[Mapping[str, TimesByOrder]]], scope: ShippedScope, made: str, digest: str
) -> str:
    """The page."""
    lines = [[traversal, *(_gap(of, (traversal,)) for of in columns.values())] for traversal in TESTED]
    others = [traversal for traversal in TESTED if traversal != USUAL]
    lines.append(["all but the usual one", *(_gap(of, others) for of in columns.values())])
    spreads = {name: [spread for graph in of for spread in _spreads(graph)] for name, of in columns.items()}
    lines.append(["spread: the mean", *(f"{np.mean(of):.1%}" for of in spreads.values())])
    lines.append(["spread: nine in ten within", *(f"{np.quantile(of, 0.9):.1%}" for of in spreads.values())])
    lines.append(["problems with a pass that does not fit", *(_misfits(of) for of in columns.values())])
    return "\n".join([_head(scope, made, digest), "", *table_of_figures(("order", *columns), lines), ""])


def _head(scope: ShippedScope, made: str, digest: str) -> str:
    tested = ", ".join(f"{count} {name}" for name, count in TESTED.items())
    return f"""# Orders of visiting with the policy that ships

`{COMMAND}`; Placeto Explorer {VERSION}; {made}; policy with SHA-256 {digest[:12]}….

Greedy passes in other orders ({tested}): the step time beside that of the pass in the usual order,
`{USUAL}`, the mean over problems with its 95 % interval over graphs; below 0 the other order is better. Spread: the
slowest order's step time over the fastest's, less 1. {scope.graphs} held-out graphs of each family on
{", ".join(FAMILY_CLUSTERS)};
the zoo's {", ".join(ZOO_GRAPHS)} on {", ".join(ZOO_CLUSTERS)}; {scope.drawn} drawn problems, as in `shipped_policy`."""


def _gap(graphs: Sequence[Mapping[str, TimesByOrder]], traversals: Sequence[str]) -> str:
    units = []
    for graph in graphs:
        gaps = [
            us / usual - 1
            for times in graph.values()
            for traversal in traversals
            for us in times[traversal]
            if us is not None and (usual := times[USUAL][0]) is not None
        ]
        units.append(gaps)
    return mean_over([unit for unit in units if unit]).as_percent()


def _spreads(graph: Mapping[str, TimesByOrder]) -> list[float]:
    """Of each problem."""
    every = [[us for of in times.values() for us in of if us is not None] for times in graph.values()]
    return [max(of) / min(of) - 1 for of in every if of]


def _misfits(graphs: Sequence[Mapping[str, TimesByOrder]]) -> str:
    problems = [times for graph in graphs for times in graph.values()]
    missing = sum(any(us is None for of in times.values() for us in of) for times in problems)
    return f"{missing} of {len(problems)}"
