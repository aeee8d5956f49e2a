"""What TensorFlow's strategies for equal replicas carry out of a plan: MirroredStrategy, and with several hosts
MultiWorkerMirroredStrategy.

They have a replica on each device, all with the same share of the batch. Of a plan with unequal shares they carry out
the nearest one with equal shares, on the same devices; what it costs is simulated and said.
"""

from collections import Counter
from dataclasses import dataclass

from engine.clusters.cluster import Cluster
from engine.plans.by_batch import ModelByBatch
from engine.plans.plan import Plan, PlanRules
from engine.plans.price import devices_used
from engine.plans.request import PlanRequest
from engine.plans.search import PlanSearch
from engine.plans.simulated import SimulatedPlan
from engine.plans.usual import equal_shares, fastest
from engine.simulator.streams.stream import Pipeline, Recompute


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What is carried out, and a line that says what is not."""

    simulated: SimulatedPlan | None
    """the plan of equal shares; None where nothing is carried out"""
    words: str


def mirrored(model: ModelByBatch, request: PlanRequest, plan: Plan) -> Mirrored:
    """What the strategies carry out of `plan`, one of the plans of `request`."""
    why = _obstacle(request.cluster, request.rules, plan)
    if why:
        return Mirrored(None, why)
    search = PlanSearch(model, request)
    devices = tuple(devices_used(plan))
    shares = {(replica.micro_batch, replica.micro_batches) for replica in plan.replicas}
    sizes = [size for size, _ in shares] if len(shares) == 1 else search.micro_batches()
    found = fastest(search, request, equal_shares(model, request, sizes, devices))
    if found is None:
        what = f"its shares are unequal, and {request.batch} samples in equal shares on {len(devices)} devices"
        return Mirrored(None, f"{what} cannot be made or do not fit in memory")
    if len(shares) == 1:
        return Mirrored(found, "as the plan")
    return Mirrored(found, _cost_words(search.simulator.simulate(plan), found))


def _obstacle(cluster: Cluster, rules: PlanRules, plan: Plan) -> str:
    """Why the strategies carry out nothing of a plan; empty where they can."""
    devices = [cluster.devices[device] for device in devices_used(plan)]
    if any(len(replica.used()) > 1 for replica in plan.replicas):
        return "a replica has several devices, and TensorFlow's strategies have one device a replica"
    if len(devices) == 1:
        return "one device alone needs no strategy"
    if rules.pipeline is Pipeline.INFERENCE:
        return "the graph is not trained: each device serves a copy of the model"
    if rules.shards_optimizer:
        return "TensorFlow's strategies shard no optimizer"
    if rules.recompute is not Recompute.NONE:
        return "TensorFlow's strategies run no stage again"
    if len({device.is_cpu for device in devices}) > 1:
        return "its replicas are on GPUs and CPUs, and a strategy's are on devices of one class"
    if len(set(Counter(device.machine for device in devices).values())) > 1:
        return "its hosts have unequal numbers of devices, and MultiWorkerMirroredStrategy has as many on each"
    return ""


def _cost_words(plan: SimulatedPlan, equal: SimulatedPlan) -> str:
    slower = equal.batch_time_us / plan.batch_time_us - 1 if plan.batch_time_us else 0.0
    share = equal.plan.replicas[0].samples
    what = "its shares are unequal, which TensorFlow's strategies cannot do"
    return f"{what}: with equal shares of {share} samples a batch takes {100 * slower:.1f} % longer"
