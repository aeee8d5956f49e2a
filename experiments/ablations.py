"""The effect of Placeto's parts: the published network beside simpler ones, both rewards, the shared head.

`python -m experiments ablations` writes docs/results/ablations.{md,json} and renews them after each seed. It uses
graphs of the family nmt, like the paper's own ablations. Source of the paper's figures: Addanki et al., NeurIPS 2019,
section 4.3.
"""

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from engine import VERSION
from engine.bench.problems import problem_on, regrouped
from engine.child.parent import BUDGETED_LIMITS, ReportProgress, Results, run_in_child
from engine.comparing.curve import BestSoFar
from engine.events import Episode, Json
from engine.placers.registry import make_placer
from engine.prepared import PreparedGraph
from engine.problem import Budget, PlacementProblem
from engine.zoo.families.family import prepared_family
from experiments.pages import ReportLine, left_rule, table_line, write_page, write_rows

COMMAND = "python -m experiments ablations"
FAMILY_CACHE = Path(".cache") / "families"
SMALLEST = 1
"""number of test graphs of the family that are used: those with the fewest ops"""
GROUPS = 40
CLUSTER = "2xK80"
SEEDS = (0, 1, 2, 3, 4)
CHILDREN = 2
"""seeds trained at a time"""
EARLY, SOME, MANY = 1000, 4000, 20_000
"""evaluations; the paper's networks had 20,400 for such a graph. With the terminal reward each evaluation is a whole
episode of the network, so the published network has only EARLY with it"""
PUBLISHED: dict[str, Json] = {"preset": "paper", "reward_unit": "reference", "entropy_weight": 0.02}
"""the published entropy weight is 1; with rewards of hundredths of a second it keeps the policy random until its last
tenth, so this weight is smaller"""


@dataclass(frozen=True, slots=True)
class Variant:
    """A line of the table."""

    label: str
    settings: dict[str, Json]
    evaluations: int = MANY
    """of each training; learning rate and entropy weight fall over them"""
    paper_worse: str = ""
    """how much worse than the published network it is according to the paper"""


NETWORK = "published network"
"""the label of the reference line for each number of evaluations"""
VARIANTS = (
    Variant(NETWORK, PUBLISHED),
    Variant("simple partitioner", {**PUBLISHED, "network": "simple_partitioner"}, paper_worse="about 13 %"),
    Variant("simple aggregator", {**PUBLISHED, "network": "simple_aggregator"}, paper_worse="about 20 %"),
    Variant("shared head, intermediate reward", {"reward": "intermediate"}),
    Variant("shared head (the default)", {}),
    Variant(NETWORK, PUBLISHED, SOME),
    Variant("published network, as published", {"preset": "paper"}, SOME),
    Variant("published network, random starts", {**PUBLISHED, "start": "random"}, SOME),
    Variant("published network, no start times", {**PUBLISHED, "start_time_feature": False}, SOME),
    Variant("published network, mean over decisions", {**PUBLISHED, "sum_over_decisions": False}, SOME),
    Variant("published network, baseline of 10 episodes", {**PUBLISHED, "return_baseline_episodes": 10}, SOME),
    Variant(NETWORK, PUBLISHED, EARLY),
    Variant("published network, terminal reward", {**PUBLISHED, "reward": "terminal"}, EARLY),
)


@dataclass(frozen=True, slots=True)
class Trained:
    """One training. Step times are relative to one device's."""

    graph: str
    seed: int
    variant: str
    evaluations: int
    """its budget"""
    early: float
    """best after EARLY evaluations"""
    best: float
    """best of all"""
    first: float
    """mean of the first tenth of the episodes"""
    last: float
    """mean of the last tenth"""
    episodes: int


def run(folder: Path, report: ReportLine) -> str:
    """Train each variant on each graph with each seed, write `folder`/ablations.{md,json}, and return the page."""
    report("building and costing the family nmt")
    _graphs(FAMILY_CACHE)  # the children find them in the cache
    found: list[Trained] = []
    with ThreadPoolExecutor(CHILDREN) as pool:
        for trained in pool.map(_in_child, SEEDS):
            found += trained
            for training in trained:
                report(f"{training.graph}, seed {training.seed}, {training.variant}: {_shown(training)}")
            write_rows(folder, "ablations", [asdict(training) for training in found])
            write_page(folder, "ablations", page(found))
    return page(found)


def _graphs(cache: Path) -> list[PreparedGraph]:
    family = prepared_family("nmt", cache, lambda *_: None, only="test")
    return sorted(family.test, key=lambda each: (each.graph.op_count, each.graph.name))[:SMALLEST]


def _in_child(seed: int) -> list[Trained]:
    order: dict[str, Json] = {"seed": seed, "cache": str(FAMILY_CACHE.absolute())}
    _, texts = run_in_child("experiments.ablations:train_in_child", order, BUDGETED_LIMITS, task="training")
    rows = texts["trained"]
    assert isinstance(rows, list)
    return [Trained(**row) for row in rows]  # type: ignore[arg-type]  # what train_in_child has written


def train_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Every variant on every graph with the seed of `order`; the child's side."""
    seed, cache = order["seed"], order["cache"]
    assert isinstance(seed, int)
    assert isinstance(cache, str)
    trained: list[Json] = []
    for prepared in _graphs(Path(cache)):
        regrouped_problem = problem_on(regrouped(prepared, GROUPS), CLUSTER)
        for variant in VARIANTS:
            problem = regrouped_problem.with_budget(Budget(variant.evaluations))
            trained.append(asdict(train(prepared.graph.name, problem, variant, seed)))
    return {}, {"trained": trained}


def train(graph: str, problem: PlacementProblem, variant: Variant, seed: int) -> Trained:
    """One training on `problem`, within its budget."""
    curve, episodes_us = BestSoFar(), list[float]()

    def note(event: object) -> None:
        if isinstance(event, Episode):
            curve.note(event.evaluations, event.best_step_time_us)
            episodes_us.append(event.step_time_us)

    placer = make_placer("placeto", {**variant.settings, "torch_device": "cpu"})
    problem.report_to(note)
    placer.place(problem, np.random.default_rng(seed), lambda: False)
    one_device = np.zeros((1, problem.group_count), dtype=np.int32)
    one_device_us = float(problem.simulator.evaluate(one_device).step_time_us[0])
    early_us = [best_us for evaluations, best_us in curve.improvements if evaluations <= EARLY]
    part = max(1, len(episodes_us) // 10)
    return Trained(
        graph=graph,
        seed=seed,
        variant=variant.label,
        evaluations=variant.evaluations,
        early=min(early_us, default=one_device_us) / one_device_us,
        best=problem.ledger.best_time_us / one_device_us,
        first=fmean(episodes_us[:part]) / one_device_us,
        last=fmean(episodes_us[-part:]) / one_device_us,
        episodes=len(episodes_us),
    )


def page(found: Sequence[Trained]) -> str:
    """The whole page."""
    seeds, graphs = sorted({each.seed for each in found}), list(dict.fromkeys(each.graph for each in found))
    given = ", ".join(f"{name}={value}" for name, value in PUBLISHED.items())
    head = f"""# Ablations

`{COMMAND}`; Placeto Explorer {VERSION}; {", ".join(graphs)} of the family nmt, {GROUPS} groups, {CLUSTER},
seeds {seeds}.

Step times relative to one device's, the mean over graphs and seeds with the range in brackets: the best placement found
after {EARLY:,} evaluations and after all, and the mean of the last tenth of the policy's episodes. "Worse" compares
with the published network at the same evaluations and seeds. The published networks have {given}, except for the line
"as published".
"""
    lines = [
        f"| variant | evaluations | trainings | after {EARLY:,} | after all | last episodes | episodes | worse "
        "| in the paper |",
        left_rule(9),
        *(_line(variant, found) for variant in VARIANTS if _of(variant, found)),
    ]
    return "\n".join([head, *lines, ""])


def _of(variant: Variant, found: Sequence[Trained]) -> list[Trained]:
    return [each for each in found if (each.variant, each.evaluations) == (variant.label, variant.evaluations)]


def _line(variant: Variant, found: Sequence[Trained]) -> str:
    trainings = _of(variant, found)
    tried = {(each.graph, each.seed) for each in trainings}
    network = _of(dataclasses.replace(variant, label=NETWORK), found)
    reference = [each.best for each in network if (each.graph, each.seed) in tried]
    cells = [
        variant.label,
        f"{variant.evaluations:,}",
        str(len(trainings)),
        _span([each.early for each in trainings]),
        _span([each.best for each in trainings]),
        _span([each.last for each in trainings]),
        f"{fmean(each.episodes for each in trainings):,.0f}",
        f"{fmean(each.best for each in trainings) / fmean(reference) - 1:+.1%}" if variant.label != NETWORK else "",
        variant.paper_worse,
    ]
    return table_line(cells)


def _span(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f} ({min(values):.3f}–{max(values):.3f})"


def _shown(training: Trained) -> str:
    return (
        f"{training.evaluations} evaluations: early {training.early:.3f}, best {training.best:.3f}, "
        f"first {training.first:.3f}, last {training.last:.3f}, {training.episodes} episodes"
    )
