"""The same number of tuning trials for every method: its defaults beside seven changes, on graphs that are in no table.

`python -m experiments tuning` writes docs/results/tuning.md and keeps a result for each method, setting, graph and seed
in docs/results/kept/tuning.jsonl, so a second call continues.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine import VERSION
from engine.bench.problems import problem_on
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placers.registry import PLACERS, make_placer
from engine.prepared import PreparedGraph
from experiments.best_found import best_one_device_us
from experiments.family_graphs import first_graphs
from experiments.keeping.kept_results import RESULT, KeptResults, Measurement, measure_missing
from experiments.keeping.statistics import paired_mean
from experiments.pages import ReportLine, table_of_figures, write_page

COMMAND = "python -m experiments tuning"
FAMILIES = ("nmt", "ptb", "cifar10")
"""the first training graph of each is in no table of methods"""
CLUSTER = "4xK80"
EVALUATIONS = 2000
SEEDS = (0, 1)
PROCESSES = 2
Changes = dict[str, Json]

SETTINGS: dict[str, tuple[Changes, ...]] = {
    "placeto": (
        {},
        {"learning_rate": 1e-3},
        {"learning_rate": 1e-2},
        {"stay_weight": 2.0},
        {"stay_weight": 4.0},
        {"exploration": 3.0},
        {"entropy_weight": 0.1},
        {"list_schedule_weight": 0.0},
    ),
    "post": (
        {},
        {"ppo_samples": 10},
        {"ppo_samples": 40},
        {"cross_entropy_samples": 400},
        {"kl_aim": 0.01},
        {"kl_aim": 0.1},
        {"exploration": 0.1},
        {"learning_rate": 2.0},
    ),
    "rnn": (
        {},
        {"learning_rate": 1e-3},
        {"learning_rate": 1e-2},
        {"entropy_weight": 2.0, "entropy_weight_end": 1.0},
        {"entropy_weight": 10.0, "entropy_weight_end": 5.0},
        {"tanh_constant": 5.0},
        {"batch_episodes": 16},
        {"hidden_width": 128},
    ),
    "hierarchical": (
        {},
        {"learning_rate": 1e-3},
        {"learning_rate": 1e-2},
        {"entropy_weight": 2.0, "entropy_weight_end": 1.0},
        {"entropy_weight": 10.0, "entropy_weight_end": 5.0},
        {"tanh_constant": 5.0},
        {"grouper_gain": 30.0},
        {"super_groups": 32},
    ),
    "spotlight": (
        {},
        {"samples": 10},
        {"samples": 40},
        {"learning_rate": 1e-3},
        {"learning_rate": 1e-2},
        {"kl_aim": 0.01},
        {"kl_aim": 0.1},
        {"ppo_steps": 10},
    ),
    "regal": (
        {},
        {"training_share": 0.25},
        {"training_share": 0.75},
        {"episode_evaluations": 120},
        {"learning_rate": 0.01},
        {"learning_rate": 0.1},
        {"population": 25},
        {"mutant_share": 0.2},
    ),
    "brkga": (
        {},
        {"population": 25},
        {"population": 100},
        {"elite_share": 0.1},
        {"mutant_share": 0.05},
        {"mutant_share": 0.2},
        {"elite_bias": 0.6},
        {"elite_bias": 0.8},
    ),
    "scotch": (
        {},
        {"imbalance": 0.002},
        {"imbalance": 0.05},
        {"mappings": 1},
        {"mappings": 2},
        {"mappings": 4},
        {"imbalance": 0.002, "mappings": 5},
        {"imbalance": 0.05, "mappings": 2},
    ),
    "local_search": (
        {},
        {"hot": 0.002},
        {"hot": 0.01},
        {"cold": 0.0001},
        {"cold": 0.0005},
        {"moves_of_shortest_cycle": 6.0},
        {"moves_of_shortest_cycle": 24.0},
        {"list_starts": False},
    ),
    "auto": ({},),
}
"""method → the defaults, then seven changes of the settings that matter; auto has none that changes its answer"""


@dataclass(frozen=True, slots=True)
class TuningTrial:
    """One setting of a method on one graph."""

    method: str
    changes: Changes
    family: str

    @property
    def shown(self) -> str:
        return f"{self.method} {words_of(self.changes)}, {self.family}"

    def key(self, seed: int) -> dict[str, Json]:
        """What is measured with one seed."""
        return {
            "method": self.method,
            "settings": self.changes,
            "family": self.family,
            "cluster": CLUSTER,
            "evaluations": EVALUATIONS,
            "seed": seed,
        }


def words_of(changes: Changes) -> str:
    """`learning_rate=0.001`, or `defaults`."""
    return ", ".join(f"{name}={value}" for name, value in changes.items()) or "defaults"


def trials() -> Iterator[TuningTrial]:
    """Every trial, method by method, the defaults first."""
    for method, settings in SETTINGS.items():
        for changes in settings:
            for family in FAMILIES:
                yield TuningTrial(method, changes, family)


def run(folder: Path, report: ReportLine) -> str:
    """Make the trials that are not known yet, write the page, and return it."""
    kept = KeptResults(folder / "kept" / "tuning.jsonl")
    for family in FAMILIES:
        report(f"a graph of {family}")
        first_graphs(family, "train", 1)
    orders: dict[str, Measurement] = {
        f"{trial.shown}, seed {seed}": trial.key(seed) for trial in trials() for seed in SEEDS
    }
    measure_missing(kept, f"{__name__}:measure_in_child", orders, PROCESSES, report)
    found = {trial.shown: [float(kept[trial.key(seed)]) for seed in SEEDS] for trial in trials()}
    return write_page(folder, "tuning", page(found, kept.made(orders.values())))


def measure_in_child(order: dict[str, Any], _folder: Path, _report_progress: ReportProgress) -> Results:
    """One trial with one seed; `order` is its key."""
    (graph,) = first_graphs(order["family"], "train", 1)
    share = share_of(graph, order["cluster"], order["method"], order["settings"], order["evaluations"], order["seed"])
    return {}, {RESULT: round(share, 4)}


def share_of(
    prepared: PreparedGraph, cluster: str, method: str, changes: Changes, evaluations: int, seed: int
) -> float:
    """The step time of the method's own best placement as a share of the best single device's."""
    problem = problem_on(prepared, cluster, evaluations)
    one_device_us = best_one_device_us(problem)
    make_placer(method, changes).place(problem, np.random.default_rng(seed), lambda: False)
    return problem.ledger.best_time_us / one_device_us


def page(found: dict[str, list[float]], made: str) -> str:
    """The whole page; `found` has the share of each seed by the trial's words."""
    summary, details = [], []
    for method, settings in SETTINGS.items():
        of = {words_of(changes): _shares(found, method, changes) for changes in settings}
        summary.append(_summary(method, of))
        rows = [[words, *map(_figure, _by_family(shares)), _figure(_mean(shares))] for words, shares in of.items()]
        table = table_of_figures(["settings", *FAMILIES, "mean"], rows)
        details.append(f"## {PLACERS[method].label}\n\n" + "\n".join(table))
    head = ["method", "trials", "defaults", "best", "its settings", "better by, of one device's step"]
    return f"""# Equal tuning

`{COMMAND}`; Placeto Explorer {VERSION}, {made}; the first training graph of each family on {CLUSTER}, {EVALUATIONS:,}
evaluations, seeds {", ".join(map(str, SEEDS))}, estimated costs. None of these graphs is in another table.

Each method gets the same number of trials: its defaults and seven changes (auto has no setting that changes its
answer). Step times of a method's own best placement as shares of one device's. "Better by" is the best setting's
difference from the defaults over graphs and seeds, paired, with its 95 % interval; as it is the best of eight, even an
interval that excludes 0 may be luck. "On all" says whether it is ahead on each of the graphs by more than the scatter
of the seeds there.

{chr(10).join(table_of_figures(head, summary))}

{(chr(10) * 2).join(details)}
"""


def _shares(found: dict[str, list[float]], method: str, changes: Changes) -> dict[str, list[float]]:
    """Family → the share of each seed."""
    return {family: found[TuningTrial(method, changes, family).shown] for family in FAMILIES}


def _figure(share: float) -> str:
    return f"{share:.3f}"


def _by_family(shares: dict[str, list[float]]) -> list[float]:
    return [float(np.mean(of_seeds)) for of_seeds in shares.values()]


def _mean(shares: dict[str, list[float]]) -> float:
    return float(np.mean(_by_family(shares)))


def _summary(method: str, of: dict[str, dict[str, list[float]]]) -> list[str]:
    default = next(iter(of.values()))
    words = min(of, key=lambda each: _mean(of[each]))
    best = of[words]
    differences = [one - other for family in FAMILIES for one, other in zip(default[family], best[family], strict=True)]
    by = "–" if best is default else f"{paired_mean(differences).as_percent()}; on all: {_on_all(default, best)}"
    return [PLACERS[method].label, str(len(of)), _figure(_mean(default)), _figure(_mean(best)), words, by]


def _on_all(default: dict[str, list[float]], best: dict[str, list[float]]) -> str:
    """Whether the best is ahead on every graph by more than the range of either setting's seeds."""
    ahead = [
        np.mean(default[family]) - np.mean(best[family]) > max(np.ptp(default[family]), np.ptp(best[family]))
        for family in FAMILIES
    ]
    return "yes" if all(ahead) else "no"
