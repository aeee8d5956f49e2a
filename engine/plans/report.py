"""A search's plans as JSON, and as lines for people."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine import VERSION
from engine.events import Emit, Json, PlanFound, ShouldStop
from engine.number_words import counted, time_words
from engine.plans.by_batch import ModelByBatch
from engine.plans.price import prices_of
from engine.plans.request import PlanRequest
from engine.plans.search import PlanSearch
from engine.plans.sharded import ShardedCost
from engine.plans.simulated import SimulatedPlan
from engine.plans.staged import replicas_to_json
from engine.plans.usual import SHARDED, WORDS, usual_plans, usual_sharding
from engine.simulator.streams.figures import US_IN_A_SECOND

FORMAT = 1
"""of the JSON"""


def plan_report(
    model: ModelByBatch, request: PlanRequest, emit: Emit, should_stop: ShouldStop = lambda: False
) -> dict[str, Json]:
    """Search for plans; the report of docs/formats/plans.md.

    The report is also emitted as `Finished`, unless `should_stop` ended the search. Emits `PlanFound` for usual and
    better plans, and `Progress`; where it is stopped, the report has what it has found.
    Raises InfeasibleError where no plan fits in memory, SettingsError as `PlanSearch` does and for a batch that cannot
    be divided.
    """
    search = PlanSearch(model, request, emit, should_stop)
    usual = usual_plans(model, request, search)
    for name, simulated in usual.items():
        if simulated is not None:
            search.told.usual(name, simulated)
    found = search.run([simulated.plan for simulated in usual.values() if simulated is not None])
    sharding = usual_sharding(request, search)
    report: dict[str, Json] = {
        **asked_to_json(model, request),
        "wall_seconds": found.wall_seconds,
        "simulated": found.simulated,
        "left_out": found.left_out,
        "not_reached": found.not_reached,
        "stopped": found.stopped,
        "plans": [plan_to_json(model, plan) | prices_of(request.cluster, plan) for plan in found.best],
        "usual": {
            **{
                name: None if plan is None else plan_to_json(model, plan) | prices_of(request.cluster, plan)
                for name, plan in usual.items()
            },
            SHARDED: None if sharding is None else _estimate_to_json(model, request, sharding),
        },
    }
    search.told.end(report, stopped=found.stopped)
    return report


def asked_to_json(model: ModelByBatch, request: PlanRequest) -> dict[str, Json]:
    """What a report says of its question, with the names to which its numbers refer."""
    return {
        "format": FORMAT,
        "engine_version": VERSION,
        "graph": model.prepared.graph.name,
        "batch": request.batch,
        "read_at": [*model.samples],
        "rules": request.rules.to_json(),
        "method": request.method,
        "seed": request.seed,
        "seconds": request.seconds,
        "devices": [device.name for device in request.cluster.devices],
        "groups": [*model.prepared.grouping.names],
    }


def _estimate_to_json(model: ModelByBatch, request: PlanRequest, cost: ShardedCost) -> dict[str, Json]:
    """What there is to say of an estimate: it has no replicas, since it is no plan."""
    return {
        "batch_time_us": cost.batch_time_us,
        "samples_per_second": request.batch * US_IN_A_SECOND / cost.batch_time_us if cost.batch_time_us > 0 else None,
        "peak_bytes": cost.peak_bytes.tolist(),
        "end_us": [],
        "replicas": [],
        "is_extrapolated": model.is_extrapolated(cost.micro_batch),
        "reduced": [],
    }


def plan_to_json(model: ModelByBatch, simulated: SimulatedPlan) -> dict[str, Json]:
    """One plan with what was simulated of it."""
    plan = simulated.plan
    return {
        "batch_time_us": simulated.batch_time_us,
        "samples_per_second": simulated.samples_per_second,
        "peak_bytes": simulated.peak_bytes.tolist(),
        "end_us": simulated.end_us.tolist(),
        "replicas": replicas_to_json(model.prepared, plan),
        "is_extrapolated": any(model.is_extrapolated(replica.micro_batch) for replica in plan.replicas),
        "reduced": [
            {
                "devices": [*each.bucket.members],
                "bytes": each.bucket.total_bytes,
                "start_us": each.start_us,
                "end_us": each.end_us,
            }
            for each in simulated.reduced
        ],
    }


def found_line(event: PlanFound) -> str:
    """A better plan, while the search goes on."""
    return f"{counted(len(event.replicas), 'replica')}: a batch in {time_words(event.batch_time_us)}"


def plan_lines(report: Mapping[str, Any]) -> list[str]:
    """A line for each plan, the fastest first, then the usual ones."""
    lines = []
    for plan in report["plans"]:
        lines.append(plan_line(plan, report["devices"]))
        if plan["price_per_million_samples"] is not None:
            lines.append(f"    {price_words(plan)}")
        if plan["is_extrapolated"]:
            lines.append("    its micro-batches lie outside of the batches that were read")
    usual = [_usual_line(WORDS[name], plan, report["plans"][0]) for name, plan in report["usual"].items()]
    return [*lines, "", "what people do:", *usual]


def plan_line(plan: Mapping[str, Any], names: list[str]) -> str:
    """A plan on one line; `names` are those of the devices."""
    return f"{_rate(plan)}  {'; '.join(_replica(row, names) for row in plan['replicas'])}"


def price_words(plan: Mapping[str, Any]) -> str:
    """What a plan with prices costs, in the person's currency."""
    return f"{plan['price_per_hour']:.4g} an hour, {plan['price_per_million_samples']:.4g} a million samples"


def _rate(plan: Mapping[str, Any]) -> str:
    most = max(plan["peak_bytes"]) / 2**30
    rate = plan["samples_per_second"]
    return f"{'any' if rate is None else f'{rate:.4g}':>9} samples a second, {most:6.2f} GiB at most"


def _replica(row: Mapping[str, Any], names: list[str]) -> str:
    turns = {devices[0]: devices for devices in row["turns"]}
    used = [turns.get(device, [device]) for device in np.unique(row["device_of_group"]).tolist()]
    words = [" or ".join(names[device].removeprefix("/device:") for device in devices) for devices in used]
    return f"{', '.join(words) if turns else ' '.join(words)}: {row['micro_batches']} × {row['micro_batch']}"


def _usual_line(words: str, plan: Mapping[str, Any] | None, best: Mapping[str, Any]) -> str:
    """A usual plan beside the best one."""
    if plan is None:
        return f"{'-':>9} {words}: cannot be made, or does not fit in memory"
    if not best["batch_time_us"]:
        return f"{_rate(plan)}  {words}"
    ahead = plan["batch_time_us"] / best["batch_time_us"] - 1
    percent, which = 100 * abs(ahead), "less" if ahead < 0 else "more"
    return f"{_rate(plan)}  {words}; the first plan above has {percent:.1f} % {which}"
