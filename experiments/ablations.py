"""The paper's ablations: simpler networks trained on a family and tested on unseen graphs, and both rewards.

`python -m experiments ablations` writes docs/results/ablations.{md,json,png}. It trains the published network and the
two simpler ones on each family, with equal episodes and so equal updates, and places the family's test graphs in one
greedy pass at each checkpoint. Then it trains on one graph of each family with both rewards, over equal episodes.
Results are kept in docs/results/kept, states of trainings in .cache/published, so a second call continues. `--set`
makes it smaller.
Source: Addanki et al., NeurIPS 2019, section 4.3 and Figure 8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from engine import VERSION
from engine.events import Json
from experiments.grid import KeptResults, measure_cells
from experiments.keeping.statistics import mean_over
from experiments.pages import ReportLine, table_of_figures, write_page, write_rows
from experiments.policies.problems import prepare_families
from experiments.published.reward_curves import REWARDS, curve_orders, curves_of, curves_table, draw_curves
from experiments.published.scope import PublishedScope, make_published_scope
from experiments.published.trainings import (
    AGGREGATOR,
    NETWORK,
    PARTITIONER,
    PUBLISHED,
    TrainingOrder,
    order_of,
    train_missing,
)

COMMAND = "python -m experiments ablations"
ALL = "all"


@dataclass(frozen=True, slots=True)
class Variant:
    """A line of the tables."""

    label: str
    settings: Mapping[str, Json]
    """beside PUBLISHED"""
    paper_worse: str = ""
    """how much worse than the published network it is according to the paper, on nmt"""
    is_difference: bool = False
    """whether it is one of the differences of docs/placeto.md"""


REFERENCE = Variant("published network", {"network": NETWORK})
VARIANTS = (
    REFERENCE,
    Variant("simple partitioner", {"network": PARTITIONER}, "about 13 %"),
    Variant("simple aggregator", {"network": AGGREGATOR}, "about 20 %"),
    Variant("starts on one device", {"network": NETWORK, "start": "fastest_device"}, is_difference=True),
    Variant("random starts", {"network": NETWORK, "start": "random"}, is_difference=True),
    Variant("no start times", {"network": NETWORK, "start_time_feature": False}, is_difference=True),
    Variant("mean over decisions", {"network": NETWORK, "sum_over_decisions": False}, is_difference=True),
    Variant("baseline of 10 episodes", {"network": NETWORK, "return_baseline_episodes": 10}, is_difference=True),
    Variant("entropy weight 1", {"network": NETWORK, "entropy_weight": 1.0}, is_difference=True),
)


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Train what is missing, write `folder`/ablations.{md,json,png}, and return the page."""
    scope = make_published_scope(settings or {})
    prepare_families(scope.of_policies(), scope.family_names, report)
    kept = KeptResults(folder / "kept" / "published.jsonl")
    orders = {
        f"{family}, {variant.label}, seed {seed}": order_of(scope, family, seed, variant.settings)
        for seed in range(scope.seeds)
        for family in scope.family_names
        for variant in variants(scope)
    }
    train_missing(kept, orders, scope.processes, report)
    curves = curve_orders(scope)
    measure_cells(kept, "experiments.published.reward_curves:curve_in_child", curves, scope.processes, report)
    by_name = {
        f"{family}, {reward}": curves_of(kept, scope, family, reward)
        for family in scope.family_names
        for reward in REWARDS
    }
    write_page(folder, "ablations", page(kept, scope))
    draw_curves(by_name, scope.curve_episodes, folder / "ablations.png")
    keys = [*(order.key() for order in orders.values()), *curves.values()]
    write_rows(folder, "ablations", [{"key": dict(key), "result": kept[key]} for key in keys])
    return page(kept, scope)


def variants(scope: PublishedScope) -> list[Variant]:
    """The variants that `scope` asks for."""
    return [variant for variant in VARIANTS if scope.differences or not variant.is_difference]


def page(kept: KeptResults, scope: PublishedScope) -> str:
    """The whole page."""
    orders = [
        order_of(scope, family, seed, variant.settings)
        for family in scope.family_names
        for variant in variants(scope)
        for seed in range(scope.seeds)
    ]
    given = ", ".join(f"{name}={value}" for name, value in PUBLISHED.items())
    made = kept.made([*(order.key() for order in orders), *curve_orders(scope).values()])
    checkpoints = [row["episodes"] for row in kept[orders[0].key()]]
    head = ["family, variant", "updates", "evaluations", *(f"{episodes:,}" for episodes in checkpoints)]
    head += ["worse than the published network", "in the paper"]
    families = (*scope.family_names, ALL)
    rows = [_row(kept, scope, family, variant) for family in families for variant in variants(scope)]
    return "\n".join(
        [
            "# Ablations",
            "",
            f"`{COMMAND}`; Placeto Explorer {VERSION}; {made}; {scope.words()}. Settings: {given}.",
            "",
            "Each network is trained on a family and places the family's test graphs in one greedy pass after so many",
            "episodes: step times as shares of one device, the mean over graphs and seeds. All have equal episodes and",
            'equal updates; evaluations differ, as a state that no move changes is none. "Worse" is the mean over test',
            "graphs and seeds at the last checkpoint, with a 95 % bootstrap interval over the graphs. The paper's",
            'figures are for nmt. The paper counts "samples", which may be evaluations or episodes; both are here.',
            "",
            *table_of_figures(head, rows),
            "",
            "## Terminal and intermediate reward (Figure 8)",
            "",
            f"Training on one test graph of each family, {scope.curve_episodes:,} episodes with each reward: step time",
            "at the episodes' ends as a share of one device. The picture has the mean over the seeds within one",
            "standard deviation of the episodes: [ablations.png](ablations.png).",
            "",
            *curves_table(kept, scope),
            "",
        ]
    )


def _row(kept: KeptResults, scope: PublishedScope, family: str, variant: Variant) -> list[str]:
    families = scope.family_names if family == ALL else (family,)
    made = [kept[order.key()] for order in _orders(scope, families, variant)]
    updates = dict.fromkeys(rows[-1]["updates"] for rows in made)
    return [
        f"{family}, {variant.label}",
        ", ".join(f"{count:,}" for count in updates),
        f"{fmean(rows[-1]['evaluations'] for rows in made):,.0f}",
        *(_mean([share for rows in made for share in rows[at]["greedy"]]) for at in range(len(made[0]))),
        "" if variant == REFERENCE else worse(kept, scope, families, variant),
        variant.paper_worse if family in ("nmt", ALL) else "",
    ]


def _orders(scope: PublishedScope, families: Sequence[str], variant: Variant) -> list[TrainingOrder]:
    return [order_of(scope, family, seed, variant.settings) for family in families for seed in range(scope.seeds)]


def _mean(shares: Sequence[float | None]) -> str:
    fitting = [share for share in shares if share is not None]
    missing = f", {len(shares) - len(fitting)} without" if len(fitting) < len(shares) else ""
    return f"{fmean(fitting):.3f}{missing}" if fitting else "none fits"


def worse(kept: KeptResults, scope: PublishedScope, families: Sequence[str], variant: Variant) -> str:
    """The mean relative difference to the published network with its interval over the test graphs."""
    units: dict[tuple[str, int], list[float]] = {}
    for family in families:
        for seed in range(scope.seeds):
            own, reference = (
                kept[order_of(scope, family, seed, of.settings).key()][-1]["greedy"] for of in (variant, REFERENCE)
            )
            for graph, (share, beside) in enumerate(zip(own, reference, strict=True)):
                if share is not None and beside is not None:
                    units.setdefault((family, graph), []).append(share / beside - 1)
    return mean_over(units.values()).as_percent() if units else ""
