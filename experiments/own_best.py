"""What Post, the RNN and the hierarchical placer find by themselves on the zoo, and whether they keep looking.

`python -m experiments own_best` writes docs/results/own_best.md; a second call continues where the first stopped.
Post: the share of local search's gain over one device at equal evaluations, from its published start, and the
divergence of its updates. RNN and hierarchical placer: how many placements of each tenth of the budget are distinct,
and their entropy. No trivial placement counts as an answer of these three.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from engine import VERSION
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placers.post import IndependentChoices, Post
from engine.placers.registry import make_placer
from engine.placers.scorer import Scorer
from engine.problem import Budget, PlacementProblem
from engine.problem.trivial import one_device_placements
from experiments.folders import CACHE
from experiments.grid import RESULT, KeptResults, Measurement, measure_cells
from experiments.keeping.code_state import code_state
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.problems import problem_on
from experiments.rnn_paper import TENTHS, Heard, heard_problem
from experiments.zoo_graphs import kept_zoo_graph

COMMAND = "python -m experiments own_best"
NAME = "own_best"
GRAPHS = ("inception_v3", "nmt", "nmt_4_layers", "nasnet")
CLUSTERS = ("2xK80", "4xK80", "8xK80")
SEARCH = "local_search"
EVALUATIONS = {SEARCH: 2400, "post": 2400, "rnn": 2000, "hierarchical": 2000}
SEEDS = {SEARCH: 5, "post": 5, "rnn": 3, "hierarchical": 3}
PROCESSES = 2
WORK = CACHE / "zoo"
"""where the children find the graphs"""

LEAST_SHARE = 0.5
"""of local search's gain, on the clusters of `GAINS_COUNT_ON`"""
GAINS_COUNT_ON = ("4xK80", "8xK80")
MOST_AIMS = 3.0
"""factor by which Post's median divergence may exceed its aim"""
LEAST_DISTINCT = 0.5
LEAST_ENTROPY = 0.05
"""nat a group, in each tenth but the last"""


def run(folder: Path, report: ReportLine) -> str:
    """Measure what `folder`/kept/own_best.jsonl lacks, write the page, and return it."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    for method in EVALUATIONS:
        orders = {" ".join(map(str, key.values())): key for key in keys(method)}
        for graph in GRAPHS:
            if any(key["graph"] == graph and key not in kept for key in orders.values()):
                kept_zoo_graph(WORK / code_state(), graph, report)  # the children find it there
        measure_cells(kept, "experiments.own_best:in_child", orders, PROCESSES, report)
        write_page(folder, NAME, page(kept))
    return write_page(folder, NAME, page(kept))


def keys(method: str, graph: str | None = None, cluster: str | None = None) -> list[Measurement]:
    """All runs of a method, or those on one graph and cluster."""
    return [
        {"graph": each, "cluster": on, "method": method, "seed": seed, "evaluations": EVALUATIONS[method]}
        for each in (GRAPHS if graph is None else (graph,))
        for on in (CLUSTERS if cluster is None else (cluster,))
        for seed in range(SEEDS[method])
    ]


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """A run's figures; `arguments` is its key."""
    order: dict[str, Any] = arguments
    prepared = kept_zoo_graph(WORK / code_state(), order["graph"], lambda _: None)
    problem = problem_on(prepared, order["cluster"])
    return {}, {RESULT: figures(problem, order["method"], order["seed"], order["evaluations"])}


def figures(problem: PlacementProblem, method: str, seed: int, evaluations: int) -> dict[str, Any]:
    """One device's step time, the method's own best, and what says whether it kept looking."""
    of_one = problem.simulator.evaluate(one_device_placements(problem))
    fitting = of_one.step_time_us[problem.feasible(of_one)]
    found: dict[str, Any] = {"one_device_us": float(fitting.min()) if len(fitting) else None}
    rng = np.random.default_rng(seed)
    if method == SEARCH:
        searched = problem.with_budget(Budget(evaluations))
        make_placer(method, {}).place(searched, rng, lambda: False)
        return found | {"own_best_us": searched.ledger.best_step_time_us}
    heard = heard_problem(problem, evaluations)
    if method == "post":
        choices, post = IndependentChoices(problem.allowed), Post()
        post.learn(Scorer(heard, lambda: False), choices, rng)
        found |= {"divergence": float(np.median(choices.divergences)), "divergence_aim": post.kl_aim}
    else:
        make_placer(method, {}).place(heard, rng, lambda: False)
    return found | {"own_best_us": heard.ledger.best_step_time_us} | _by_tenths(heard.heard)


def _by_tenths(heard: Heard) -> dict[str, Json]:
    """In each tenth of the evaluations the share of distinct placements, and the mean entropy of a group."""
    count = len(heard.placements)
    tenth_of_update = [min(TENTHS - 1, (used - 1) * TENTHS // count) for used, _ in heard.entropies]
    distinct: list[Json] = []
    entropy: list[Json] = []
    for tenth, placements in enumerate(np.array_split(np.array(heard.placements), TENTHS)):
        distinct.append(round(len(np.unique(placements, axis=0)) / max(1, len(placements)), 4))
        of_updates = [nats for at, (_, nats) in zip(tenth_of_update, heard.entropies, strict=True) if at == tenth]
        entropy.append(round(fmean(of_updates), 4) if of_updates else None)
    spread = heard.placements[int(np.argmin(heard.step_time_us))]
    return {"distinct": distinct, "entropy": entropy, "devices_of_best": len(np.unique(spread))}


def page(kept: KeptResults) -> str:
    """The page with all runs that are known."""
    known = [key for method in EVALUATIONS for key in keys(method) if key in kept]
    return f"""# What Post, RNN and hierarchical placer find by themselves

`{COMMAND}`; Placeto Explorer {VERSION}; {kept.made(known)}; default settings, so from the published start, 128 groups,
estimated costs. Means over the seeds with the range in brackets. No trivial placement counts as an answer of these
methods, and local search's may be one.

## Post

{EVALUATIONS["post"]:,} evaluations. Share: Post's gain over one device, of local search's with as many evaluations. It
holds if that of the means is at least {LEAST_SHARE:g} on four and eight devices, and the median divergence of the
updates, in aims, at most {MOST_AIMS:g} on all.

{_table_of_post(kept)}

## RNN and hierarchical placer

{EVALUATIONS["rnn"]:,} evaluations. It holds if in each run at least {100 * LEAST_DISTINCT:.0f} % of the placements of
each tenth are distinct, and the mean entropy is at least {LEAST_ENTROPY:g} nat a group in each of the first nine.

{_table_of_sequences(kept)}
"""


def _table_of_post(kept: KeptResults) -> str:
    head = (
        "graph, cluster",
        "seeds",
        "Post, of one device",
        "local search",
        "share of its gain",
        "divergence",
        "holds",
    )
    rows = []
    for graph, cluster in _problems():
        of_post, searched = (_known(kept, method, graph, cluster) for method in ("post", SEARCH))
        if not of_post or not searched:
            continue
        own, reached = _shares_of_one(of_post), _shares_of_one(searched)
        share = (1 - fmean(own)) / (1 - fmean(reached)) if own and reached and fmean(reached) < 1 else None
        aims = [found["divergence"] / found["divergence_aim"] for found in of_post]
        holds = median(aims) <= MOST_AIMS and (
            cluster not in GAINS_COUNT_ON or (share is not None and share >= LEAST_SHARE)
        )
        shown = "" if share is None else f"{share:.2f}"
        rows.append(
            [f"{graph}, {cluster}", str(len(of_post)), _own(own), _span(reached), shown, _span(aims), _words(holds)]
        )
    return "\n".join(table_of_figures(head, rows))


def _table_of_sequences(kept: KeptResults) -> str:
    head = ("method, graph, cluster", "seeds", "best, of one device", "least distinct", "least entropy", "holds")
    rows = []
    for method in ("rnn", "hierarchical"):
        for graph, cluster in _problems():
            runs = _known(kept, method, graph, cluster)
            if runs:
                distinct = min(min(found["distinct"]) for found in runs)
                entropy = min(min(nats for nats in found["entropy"][:-1] if nats is not None) for found in runs)
                holds = distinct >= LEAST_DISTINCT and entropy >= LEAST_ENTROPY
                best = _own(_shares_of_one(runs))
                if any(found["devices_of_best"] == 1 for found in runs):
                    best += ", one device"
                name = f"{method}, {graph}, {cluster}"
                rows.append([name, str(len(runs)), best, f"{100 * distinct:.0f} %", f"{entropy:.3f}", _words(holds)])
    return "\n".join(table_of_figures(head, rows))


def _problems() -> list[tuple[str, str]]:
    return [(graph, cluster) for graph in GRAPHS for cluster in CLUSTERS]


def _known(kept: KeptResults, method: str, graph: str, cluster: str) -> list[dict[str, Any]]:
    return [kept[key] for key in keys(method, graph, cluster) if key in kept]


def _shares_of_one(runs: Sequence[dict[str, Any]]) -> list[float]:
    """Own bests as shares of one device's step time, of the runs that have one."""
    both = [(found["own_best_us"], found["one_device_us"]) for found in runs]
    return [own_us / one_us for own_us, one_us in both if own_us is not None and one_us is not None]


def _own(shares: Sequence[float]) -> str:
    """The span of own bests; it says where one device is better than all of them."""
    return _span(shares) + ("; one device is better" if shares and min(shares) >= 1 else "")


def _span(values: Sequence[float]) -> str:
    if not values:
        return "none fits"
    return f"{fmean(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def _words(holds: bool) -> str:
    return "yes" if holds else "no"
