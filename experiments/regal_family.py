"""REGAL's policy trained on a family beside plain BRKGA and REGAL's training within a run, on graphs not seen before.

`python -m experiments regal_family` writes docs/results/regal_family.md and keeps a result for each family, cluster and
seed in docs/results/kept/regal_family.jsonl, so a second call continues. Source of what is compared: Paliwal et al.:
REGAL, 2019, arXiv 1905.02494, whose policy is trained on many graphs and then directs searches on others.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine import VERSION
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placers.regal.placer import Regal
from engine.placers.registry import make_placer
from engine.prepared import PreparedGraph
from engine.problem import PlacementProblem
from experiments.best_found import best_one_device_us
from experiments.family_graphs import first_graphs, first_names
from experiments.grid import RESULT, KeptResults, Measurement, measure_cells
from experiments.keeping.statistics import mean_over, paired_mean
from experiments.pages import ReportLine, table_of_figures, write_page
from experiments.problems import problem_on

COMMAND = "python -m experiments regal_family"
FAMILIES = ("nmt", "ptb", "cifar10")
CLUSTERS = ("2xK80", "4xK80")
SEEDS = (0, 1, 2)
"""of the training and of the searches"""
TRAIN_GRAPHS, TEST_GRAPHS = 6, 3
EPISODES, EPISODE_EVALUATIONS = 180, 400
BUDGETS = (1000, 5000)
PLAIN, WITHIN, FAMILY = METHODS = ("BRKGA", "REGAL within a run", "REGAL of the family")
PROCESSES = 2
SharesByGraph = dict[str, dict[str, float]]
"""test graph → `method, budget` → step time as a share of one device's"""
Place = Callable[[PlacementProblem, np.random.Generator], None]


def run(folder: Path, report: ReportLine) -> str:
    """Train and search what is not known yet, write the page, and return it."""
    kept = KeptResults(folder / "kept" / "regal_family.jsonl")
    orders = every_order()
    for family in FAMILIES:
        report(f"the graphs of {family}")
        first_graphs(family, "train", TRAIN_GRAPHS)
        first_graphs(family, "test", TEST_GRAPHS)
    measure_cells(kept, f"{__name__}:measure_in_child", orders, PROCESSES, report)
    found = {shown: kept[key] for shown, key in orders.items()}
    return write_page(folder, "regal_family", page(orders, found, kept.made(orders.values())))


def every_order() -> dict[str, Measurement]:
    """What a terminal shows → a training with its searches."""
    return {
        f"{family} on {cluster}, seed {seed}": {
            "family": family,
            "cluster": cluster,
            "seed": seed,
            "train_graphs": TRAIN_GRAPHS,
            "test_graphs": TEST_GRAPHS,
            "episodes": EPISODES,
            "episode_evaluations": EPISODE_EVALUATIONS,
            "budgets": list(BUDGETS),
        }
        for family in FAMILIES
        for cluster in CLUSTERS
        for seed in SEEDS
    }


def measure_in_child(texts: dict[str, Any], _folder: Path, _report_progress: ReportProgress) -> Results:
    """One order: `texts` is its key."""
    family, cluster, seed = texts["family"], texts["cluster"], texts["seed"]
    train = first_graphs(family, "train", texts["train_graphs"])
    names = first_names(family, "test", texts["test_graphs"])
    test = dict(zip(names, first_graphs(family, "test", texts["test_graphs"]), strict=True))
    settings = Regal(episode_evaluations=texts["episode_evaluations"])
    return {}, {RESULT: measured(train, test, cluster, settings, texts["episodes"], texts["budgets"], seed)}


def measured(
    train: tuple[PreparedGraph, ...],
    test: dict[str, PreparedGraph],
    cluster: str,
    settings: Regal,
    episodes: int,
    budgets: list[int],
    seed: int,
) -> dict[str, Json]:
    """`SharesByGraph` of each test graph, after a training of `episodes` on the graphs `train`."""
    from experiments.regal_training import train_on_family  # torch takes seconds to load

    problems = [problem_on(graph, cluster) for graph in train]
    policy = train_on_family(problems, settings, episodes, np.random.default_rng(seed))
    placers: dict[str, Place] = {
        PLAIN: lambda problem, rng: make_placer("brkga", {}).place(problem, rng, _never),
        WITHIN: lambda problem, rng: make_placer("regal", {}).place(problem, rng, _never),
        FAMILY: lambda problem, rng: Regal().place_with(policy, problem, rng, _never),
    }
    found: dict[str, Json] = {}
    for name, graph in test.items():
        one_device_us = best_one_device_us(problem_on(graph, cluster))
        shares: dict[str, Json] = {}
        for method, place in placers.items():
            for budget in budgets:
                problem = problem_on(graph, cluster, budget)
                place(problem, np.random.default_rng(seed))
                shares[_column(method, budget)] = round(problem.ledger.best_time_us / one_device_us, 4)
        found[name] = shares
    return found


def _never() -> bool:
    return False


def _column(method: str, budget: int) -> str:
    return f"{method}, {budget:,}"


def page(orders: dict[str, Measurement], found: dict[str, SharesByGraph], made: str) -> str:
    """The whole page."""
    columns = [_column(method, budget) for budget in BUDGETS for method in METHODS]
    rows = []
    for family in FAMILIES:
        for cluster in CLUSTERS:
            of = [found[shown] for shown, key in orders.items() if (key["family"], key["cluster"]) == (family, cluster)]
            rows.append([f"{family}, {cluster}", *(_cell(of, column) for column in columns)])
    return f"""# REGAL trained on a family

`{COMMAND}`; Placeto Explorer {VERSION}, {made}; default settings, estimated costs.

Step times as shares of one device's, the method's own best: means over {TEST_GRAPHS} held-out graphs and seeds
{", ".join(map(str, SEEDS))}, in brackets the least and the greatest mean of a seed. The policy is trained for each
family, cluster and seed on {TRAIN_GRAPHS} training graphs, over {EPISODES} searches of {EPISODE_EVALUATIONS}
evaluations, and a plain one on each graph: {(EPISODES + TRAIN_GRAPHS) * EPISODE_EVALUATIONS:,} evaluations, which no
budget below counts. It then gives the whole budget to one search with its most probable proposals. REGAL within a run
spends half of its budget on its training.

{chr(10).join(table_of_figures(["family, cluster", *columns], rows))}

{chr(10).join(_differences(found))}
"""


def _cell(of_seeds: list[SharesByGraph], column: str) -> str:
    means = [float(np.mean([shares[column] for shares in found.values()])) for found in of_seeds]
    return f"{np.mean(means):.3f} ({min(means):.3f} to {max(means):.3f})"


def _differences(found: dict[str, SharesByGraph]) -> list[str]:
    """A sentence a budget: the policy's difference from the plain search, with intervals over families and clusters."""
    lines = []
    for budget in BUDGETS:
        plain, family = _column(PLAIN, budget), _column(FAMILY, budget)
        units = [[of[family] / of[plain] - 1 for of in shares.values()] for shares in found.values()]
        boot, paired = mean_over(units), paired_mean([float(np.mean(unit)) for unit in units])
        verdict = "no difference that these runs can show" if paired.low <= 0 <= paired.high else "a difference"
        lines.append(
            f"- {budget:,} evaluations: trained on the family, a step takes {boot.as_percent()} of plain BRKGA's more; "
            f"in brackets the 95 % interval over the trainings: {verdict}."
        )
    return lines
