"""What people do without a search, beside which a plan stands: the same shares for all, and layers in equal numbers.

Each is simulated as every plan is, with micro-batches of the sizes that divide its batch, the fastest that fits.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlacetoError
from engine.graphs.grouping.nesting import Levels
from engine.placers.registry import make_placer
from engine.plans.by_batch import ModelByBatch
from engine.plans.plan import Plan, Replica
from engine.plans.search import PlanRequest, PlanSearch
from engine.plans.simulated import SimulatedPlan
from engine.problem import Budget
from engine.run.problem import RunProblem
from engine.run.request import RunRequest

DATA_PARALLEL, EQUAL_LAYERS = "data_parallel", "equal_layers"
WORDS: Mapping[str, str] = {
    DATA_PARALLEL: "a replica on each GPU, equal shares",
    EQUAL_LAYERS: "one pipeline, equal layers a GPU",
}
"""the usual plan → what it is, for people"""


def usual_plans(model: ModelByBatch, request: PlanRequest, search: PlanSearch) -> dict[str, SimulatedPlan | None]:
    """Each of `WORDS` → its fastest plan that fits in memory, or None where none does or it cannot be made."""
    gpus = tuple(index for index, device in enumerate(request.cluster.devices) if not device.is_cpu)
    devices = gpus or tuple(range(request.cluster.device_count))
    made = {
        DATA_PARALLEL: _data_parallel(model, request, search.micro_batches(), devices),
        EQUAL_LAYERS: _equal_layers(model, request, search.micro_batches()),
    }
    return {name: _fastest(search, request, plans) for name, plans in made.items()}


def _fastest(search: PlanSearch, request: PlanRequest, plans: Iterator[Plan]) -> SimulatedPlan | None:
    best: SimulatedPlan | None = None
    for plan in plans:
        try:
            simulated = search.simulator.simulate(plan)
        except PlacetoError:  # an op that one of the devices cannot run
            continue
        fits = np.all(simulated.peak_bytes <= request.cluster.usable_bytes)
        if fits and (best is None or simulated.batch_time_us < best.batch_time_us):
            best = simulated
    return best


def _data_parallel(
    model: ModelByBatch, request: PlanRequest, sizes: Sequence[int], devices: tuple[int, ...]
) -> Iterator[Plan]:
    alone = np.zeros(model.prepared.grouping.group_count, np.int32)
    for size in sizes:
        if request.batch % (size * len(devices)) == 0:
            count = request.batch // size // len(devices)
            yield Plan(tuple(Replica((device,), alone, size, count) for device in devices))


def _equal_layers(model: ModelByBatch, request: PlanRequest, sizes: Sequence[int]) -> Iterator[Plan]:
    for size in sizes:
        placement = _of_equal_layers(model, request, size)
        if placement is not None:
            yield Plan((Replica(tuple(range(request.cluster.device_count)), placement, size, request.batch // size),))


def _of_equal_layers(model: ModelByBatch, request: PlanRequest, size: int) -> NDArray[np.int32] | None:
    """[groups] the rule's placement; None where it cannot be made."""
    prepared = dataclasses.replace(model.prepared, costs=model.costs(size), levels=Levels())
    stream = request.rules.stream(request.batch // size)
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
