"""Plans for whole models on six clusters, beside what people do without a search: samples a second, and the seconds.

`python -m experiments plan_table` writes docs/results/plan_table.{md,json}. It records or builds each model's step at
two batches (transformers has to be installed), and searches for plans of `BATCH` samples for `SECONDS`. Data parallel,
equal layers and PipeDream's rule are simulated as plans are, with the best size of micro-batch of each; sharding is an
estimate. Each row is kept in kept/plan_table.jsonl there, so a second call continues where the first stopped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from engine import VERSION, api
from engine.plans.by_batch import ModelByBatch
from engine.plans.usual import SHARDED, WORDS
from experiments.elsewhere import PREFILL, TRAINING, Recorded
from experiments.grid import KeptResults, Measurement, measure_cells_here, write_known
from experiments.pages import ReportLine, table_of_figures
from experiments.zoo_graphs import prepared_zoo_graph

COMMAND = "python -m experiments plan_table"
NAME = "plan_table"
BATCH = 64
SECONDS = 10.0
GIB = 2**30
OURS = "ours"
COLUMNS: Mapping[str, str] = {
    "data_parallel": "data parallel, equal shares",
    "equal_layers": "equal layers",
    "pipedream": "PipeDream",
    SHARDED: "sharded, estimated",
    OURS: "ours",
}
"""a plan → its column"""
CLUSTERS: Mapping[str, str] = {
    "4xRTX4090": "equal cards",
    "2xRTX4090+2xRTX3090": "two kinds of one generation each",
    "2xA100+2xV100": "a fast and a slow pair",
    "2xA100@ethernet": "two machines with a slow network",
    "L4+T4": "a card of 24 GB beside one of 16 GB",
    "CPU+RTX4090": "a CPU and one GPU",
}
"""cluster → what it stands for"""


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """A model that is read at two batches."""

    name: str
    step: str
    read_at: tuple[int, int]
    prepare: Callable[[int], api.PreparedGraph]
    """records or builds the step of a batch, and reads it"""

    def model(self) -> ModelByBatch:
        """Both readings."""
        small, large = self.read_at
        return ModelByBatch((self.prepare(small), self.prepare(large)), self.read_at)

    def rules(self) -> api.PlanRules:
        """As people train, or serve."""
        return api.PlanRules(api.Pipeline.ONE_F_ONE_B if self.step == TRAINING else api.Pipeline.INFERENCE)


def _recorded(model: str, small: int, step: str = TRAINING) -> PlannedModel:
    def prepare(batch: int) -> api.PreparedGraph:
        return Recorded(model, step, batch, (), 512, "bfloat16").prepare()

    return PlannedModel(model, step, (small, 2 * small), prepare)


def _of_zoo(name: str, label: str, small: int) -> PlannedModel:
    def prepare(batch: int) -> api.PreparedGraph:
        return prepared_zoo_graph(name, lambda _: None, {"batch": batch})

    return PlannedModel(label, TRAINING, (small, 2 * small), prepare)


MODELS = (
    _recorded("GPT-2", 2),
    _recorded("GPT-2, untied", 2),
    _recorded("BART-large", 2),
    _recorded("ViT-H", 4),
    _recorded("ResNet-152", 8),
    _recorded("ConvNeXt-L", 4),
    _recorded("7B", 1, PREFILL),
    _of_zoo("inception_v3", "Inception-V3", 16),
    _of_zoo("nmt", "NMT", 16),
)


def run(folder: Path, report: ReportLine) -> str:
    """Measure what is missing, write `folder`/plan_table.{md,json} after each model, and return the page."""
    kept = KeptResults(folder / "kept" / f"{NAME}.jsonl")
    for model in MODELS:
        read = cache(model.model)
        cells = {f"{model.name} on {cluster}": key_of(model, cluster) for cluster in CLUSTERS}
        of_cell = dict(zip(cells, CLUSTERS, strict=True))
        measure_cells_here(kept, cells, partial(_measured, model, read, of_cell), report)
        write_known(folder, NAME, kept, all_keys(), page)
    return write_known(folder, NAME, kept, all_keys(), page)


def key_of(model: PlannedModel, cluster: str) -> Measurement:
    """What a row measures."""
    return {
        "model": model.name,
        "step": model.step,
        "read_at": [*model.read_at],
        "cluster": cluster,
        "batch": BATCH,
        "seconds": SECONDS,
        "seed": 0,
    }


def all_keys() -> Iterator[Measurement]:
    """Every row of the table."""
    for model in MODELS:
        yield from (key_of(model, cluster) for cluster in CLUSTERS)


def _measured(
    model: PlannedModel, read: Callable[[], ModelByBatch], of_cell: Mapping[str, str], cell: str
) -> dict[str, api.Json]:
    return row_of(read(), model.rules(), of_cell[cell])


def row_of(model: ModelByBatch, rules: api.PlanRules, cluster_words: str) -> dict[str, api.Json]:
    """The plans of one search, each with its rate, memory and replicas; none where no plan fits."""
    cluster = api.parse_cluster(cluster_words)
    try:
        report: Mapping[str, Any] = api.plan(model, api.PlanRequest(cluster, BATCH, rules, SECONDS), lambda _: None)
    except api.InfeasibleError as error:
        return {"ops": model.prepared.graph.op_count, "plans": None, "reason": str(error)}
    plans = report["usual"] | {OURS: report["plans"][0]}
    return {
        "ops": model.prepared.graph.op_count,
        "groups": model.prepared.grouping.group_count,
        "plans": {name: None if plan is None else _plan_row(plan) for name, plan in plans.items()},
        "wall_seconds": report["wall_seconds"],
        "simulated": report["simulated"],
        "left_out": report["left_out"],
        "not_reached": report["not_reached"],
    }


def _plan_row(plan: Mapping[str, Any]) -> dict[str, api.Json]:
    replicas = [
        [len(np.unique(row["device_of_group"])), row["micro_batches"], row["micro_batch"], len(row["turns"])]
        for row in plan["replicas"]
    ]
    return {
        "samples_per_second": plan["samples_per_second"],
        "most_bytes": max(plan["peak_bytes"]),
        "replicas": replicas,
        "is_extrapolated": plan["is_extrapolated"],
    }


def page(rows: Sequence[Mapping[str, Any]], made: str) -> str:
    """The whole page; `made` says by which state of the code."""
    head = ("model", "step", "devices", *COLUMNS.values(), "ahead of the best plan of others", "ours, in replicas", "s")
    lines = [[row["model"], row["step"], row["cluster"], *_figures(row)] for row in rows]
    clusters = "; ".join(f"`{cluster}`, {words}" for cluster, words in CLUSTERS.items())
    parts = [
        "# Plans: replicas, pipelines and placements together, beside what people do",
        "For those who have several cards and a model to train or serve.",
        f"`{COMMAND}`; Placeto Explorer {VERSION}, {made}. Samples a second of batches of {BATCH}, simulated\n"
        "whole, passes, all-reduce and optimizer; op times follow from operations and bytes. A search has\n"
        f"{SECONDS:.0f} s, seed 0.\n"
        "A usual plan has its best size of micro-batch; sharding (FSDP) is an estimate, no plan. A dash: none fits in\n"
        "memory, or the rule makes none. Replicas as devices: micro-batches × samples; `t` where devices take a stage\n"
        f"in turn. Clusters: {clusters}.",
        "## Samples a second\n\n" + "\n".join(table_of_figures(head, lines)),
        _in_short(rows),
    ]
    return "\n\n".join(parts) + "\n"


def _figures(row: Mapping[str, Any]) -> list[str]:
    if row["plans"] is None:
        return [*("–" for _ in COLUMNS), "none fits", "–", "–"]
    rates = [_rate(row["plans"][name]) for name in COLUMNS]
    ahead = ahead_of_others(row)
    words = "no other fits" if ahead is None else f"{ahead:.1f} %"
    return [*rates, words, _replica_words(row["plans"][OURS]["replicas"]), f"{row['wall_seconds']:.1f}"]


def _rate(plan: Mapping[str, Any] | None) -> str:
    return "–" if plan is None else f"{plan['samples_per_second']:.4g}"


def ahead_of_others(row: Mapping[str, Any]) -> float | None:
    """By how many percent ours has more samples a second than the best plan that others make; None without one."""
    plans = row["plans"]
    others = [plans[name]["samples_per_second"] for name in WORDS if name != SHARDED and plans[name] is not None]
    return 100 * (plans[OURS]["samples_per_second"] / max(others) - 1) if others else None


def _replica_words(replicas: Sequence[Sequence[int]]) -> str:
    words = [f"{devices}{'t' * (turns > 0)}: {count} × {size}" for devices, count, size, turns in replicas]
    return "; ".join(
        f"{words.count(each)} of {each}" if words.count(each) > 1 else each for each in dict.fromkeys(words)
    )


def _in_short(rows: Sequence[Mapping[str, Any]]) -> str:
    """By how much ours is ahead on each cluster, and of each rule where it fits."""
    lines = ["## In short", ""]
    for cluster, words in CLUSTERS.items():
        known = [row for row in rows if row["cluster"] == cluster and row["plans"] is not None]
        ahead = [gain for row in known if (gain := ahead_of_others(row)) is not None]
        if ahead:
            lines.append(
                f"- {cluster}, {words}: {min(ahead):.1f} to {max(ahead):.0f} % ahead of the best of the others' plans, "
                f"in the median {float(np.median(ahead)):.1f} %; "
                f"in {len(known) - len(ahead)} of {len(known)} only ours fits."
            )
    for name, words in COLUMNS.items():
        known = [row["plans"] for row in rows if row["plans"] is not None]
        both = [(plans[name], plans[OURS]) for plans in known if plans[name] is not None]
        if name == OURS or not both:
            continue
        gains = [100 * (ours["samples_per_second"] / plan["samples_per_second"] - 1) for plan, ours in both]
        behind = sum(gain < 0 for gain in gains)
        lines.append(
            f"- {words}: fits in {len(both)} of {len(known)}; there ours has {min(gains):.1f} to {max(gains):.0f} % "
            f"more, in the median {float(np.median(gains)):.1f} %, and is behind in {behind}."
        )
    return "\n".join(lines)
