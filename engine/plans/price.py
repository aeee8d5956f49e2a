"""What a plan costs, by the prices that a person gives the devices: none is known by itself."""

from engine.clusters.cluster import Cluster, price_per_hour
from engine.events import Json
from engine.plans.plan import Plan
from engine.plans.simulated import SimulatedPlan

HOUR_SECONDS, MILLION = 3600, 1_000_000


def prices_of(cluster: Cluster, simulated: SimulatedPlan) -> dict[str, Json]:
    """The fields of a plan's JSON: the price of an hour of its devices, and of a million samples; null if not known."""
    per_hour = price_per_hour(cluster.devices[device] for device in devices_used(simulated.plan))
    rate = simulated.samples_per_second
    per_million = None if per_hour is None or rate is None else per_hour / rate / HOUR_SECONDS * MILLION
    return {"price_per_hour": per_hour, "price_per_million_samples": per_million}


def devices_used(plan: Plan) -> list[int]:
    """The devices that run anything, in order."""
    return sorted({device for replica in plan.replicas for device in replica.used()})
