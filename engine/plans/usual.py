"""What people do without this search, beside which a plan stands.

Each is tried with micro-batches of all sizes that divide its batch; the fastest that fits counts. Plans are simulated
as every plan is. Sharding all weights is an estimate, since it is no plan: see sharded.py.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import part_of_cluster
from engine.errors import PlacetoError
from engine.graphs.grouping.nesting import Levels
from engine.placers.registry import make_placer
from engine.plans.by_batch import ModelByBatch
from engine.plans.plan import Plan, Replica
from engine.plans.replicated_stages import layer_costs, replica_of_stages, replicated_stages
from engine.plans.request import PlanRequest
from engine.plans.search import PlanSearch
from engine.plans.sharded import ShardedCost, sharded_cost
from engine.plans.simulated import SimulatedPlan
from engine.problem import Budget
from engine.run.problem import RunProblem
from engine.run.request import RunRequest

DATA_PARALLEL, EQUAL_LAYERS, PIPEDREAM, SHARDED = "data_parallel", "equal_layers", "pipedream", "sharded"
WORDS: Mapping[str, str] = {
    DATA_PARALLEL: "a replica on each GPU, equal shares",
    EQUAL_LAYERS: "one pipeline, equal layers a GPU",
    PIPEDREAM: "PipeDream's rule, stages that GPUs take in turn",
    SHARDED: "all weights sharded, equal shares (FSDP), estimated",
}
"""the usual plan → what it is, for people"""


def usual_plans(model: ModelByBatch, request: PlanRequest, search: PlanSearch) -> dict[str, SimulatedPlan | None]:
    """Each plan of `WORDS` → the fastest that fits in memory, or None where none does or it cannot be made."""
    devices = _usual_devices(request)
    made = {
        DATA_PARALLEL: equal_shares(model, request, search.micro_batches(), devices),
        EQUAL_LAYERS: _equal_layers(model, request, search.micro_batches()),
        PIPEDREAM: _pipedream(model, request, search.micro_batches(), devices),
    }
    return {name: fastest(search, request, plans) for name, plans in made.items()}


def _usual_devices(request: PlanRequest) -> tuple[int, ...]:
    """The GPUs, or all devices where there are none."""
    gpus = tuple(index for index, device in enumerate(request.cluster.devices) if not device.is_cpu)
    return gpus or tuple(range(request.cluster.device_count))


def usual_sharding(request: PlanRequest, search: PlanSearch) -> ShardedCost | None:
    """The estimate of `SHARDED` with the size of micro-batches that is the fastest of those that fit; None for none."""
    devices, best = _usual_devices(request), None
    for size in search.micro_batches():
        if request.batch % (size * len(devices)):
            continue
        try:
            cost = sharded_cost(search.simulator, devices, size, request.batch // size // len(devices))
        except PlacetoError:  # an op that one of the devices cannot run
            continue
        fits = np.all(cost.peak_bytes <= request.cluster.usable_bytes)
        if fits and (best is None or cost.batch_time_us < best.batch_time_us):
            best = cost
    return best


def fastest(search: PlanSearch, request: PlanRequest, plans: Iterator[Plan]) -> SimulatedPlan | None:
    """The fastest of `plans` that fits in memory and keeps the rules; None where none does."""
    best: SimulatedPlan | None = None
    for plan in plans:
        try:
            simulated = search.simulator.simulate(plan)
        except PlacetoError:  # an op that one of the devices cannot run
            continue
        fits = np.all(simulated.peak_bytes <= request.cluster.usable_bytes) and search.simulator.keeps_rules(simulated)
        if fits and (best is None or simulated.batch_time_us < best.batch_time_us):
            best = simulated
    return best


def equal_shares(
    model: ModelByBatch, request: PlanRequest, sizes: Sequence[int], devices: tuple[int, ...]
) -> Iterator[Plan]:
    """A replica on each of `devices` with the same share of the batch, by micro-batches of each of `sizes`."""
    alone = np.zeros(model.prepared.grouping.group_count, np.int32)
    for size in sizes:
        if request.batch % (size * len(devices)) == 0:
            count = request.batch // size // len(devices)
            yield Plan(tuple(Replica((device,), alone, size, count) for device in devices))


def _pipedream(
    model: ModelByBatch, request: PlanRequest, sizes: Sequence[int], devices: tuple[int, ...]
) -> Iterator[Plan]:
    """The published rule takes all devices for equal: each layer has its mean time, and weights are sent each time."""
    if request.rules.shards_optimizer:
        return
    part = part_of_cluster(request.cluster, np.array(devices))
    for size in sizes:
        layers = layer_costs(model.prepared, model.costs(size), part, 1.0)
        mean_us = np.broadcast_to(layers.time_us.mean(axis=0), layers.time_us.shape)
        stages = replicated_stages(dataclasses.replace(layers, time_us=mean_us))
        replica = replica_of_stages(stages, devices, size, request.batch // size)
        if replica is not None:
            yield Plan((replica,))


def _equal_layers(model: ModelByBatch, request: PlanRequest, sizes: Sequence[int]) -> Iterator[Plan]:
    for size in sizes:
        placement = _of_equal_layers(model, request, size)
        if placement is not None:
            yield Plan((Replica(tuple(range(request.cluster.device_count)), placement, size, request.batch // size),))


def _of_equal_layers(model: ModelByBatch, request: PlanRequest, size: int) -> NDArray[np.int32] | None:
    """[groups] the rule's placement; None where it cannot be made."""
    prepared = dataclasses.replace(model.prepared, costs=model.costs(size), levels=Levels())
    stream = dataclasses.replace(request.rules, contiguous=False).stream(request.batch // size)  # judged when simulated
    asked = RunRequest(
        request.cluster,
        "even_layers",
        Budget(1),
        request.seed,
        drop_devices=request.drop_devices,
        baselines=(),
        stream=stream,
    )
    try:
        problem = RunProblem(prepared, asked, lambda _: None, None).problem
        make_placer("even_layers", {}).place(problem, np.random.default_rng(request.seed), lambda: False)
    except PlacetoError:  # no layers are known, or an op cannot run where it would go
        return None
    return problem.ledger.answer()
