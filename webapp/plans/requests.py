"""The engine's request of a search for plans, its model, and the row that stores them: the one place that knows all."""

from engine import api
from webapp.graphs.models import Graph
from webapp.plans.models import PlanSearch


def new_search(graph: Graph, second: Graph | None, request: api.PlanRequest) -> PlanSearch:
    """A search that is not stored yet."""
    return PlanSearch(
        graph=graph,
        second=second,
        second_name="" if second is None else second.name,
        cluster=api.cluster_to_json(request.cluster),
        batch=request.batch,
        seconds=request.seconds,
        plan_rules=request.rules.to_json(),
        seed=request.seed,
        drop_devices=request.drop_devices,
    )


def request_of(search: PlanSearch) -> api.PlanRequest:
    """The request of a stored search."""
    rules = api.PlanRules.from_json(search.plan_rules)
    return api.PlanRequest(
        search.cluster_value, search.batch, rules, search.seconds, search.seed, drop_devices=search.drop_devices
    )


def model_of(search: PlanSearch) -> api.ModelByBatch:
    """The model of its readings. Raises GraphError if one of them has been deleted since."""
    if search.second_name and search.second is None:
        what = "the second reading has been deleted meanwhile"
        raise api.GraphError(what, where=search.second_name, allowed="an existing graph")
    readings = [search.graph] if search.second is None else [search.graph, search.second]
    return api.model_by_batch([reading.prepared.value for reading in readings])
