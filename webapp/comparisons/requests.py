"""The engine's request of a comparison, and the row that stores it: the one place that knows both."""

from engine import api
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.policies.models import Policy


def new_comparison(graph: Graph, request: api.ComparisonRequest, policy: Policy | None = None) -> Comparison:
    """A comparison that is not stored yet. `policy`: the row of the request's policy."""
    return Comparison(
        graph=graph,
        cluster=api.cluster_to_json(request.cluster),
        methods=list(request.methods),
        seeds=request.seeds,
        evaluations=request.budget.evaluations,
        seconds=request.budget.seconds,
        drop_devices=request.drop_devices,
        policy=policy,
        policy_name="" if policy is None else policy.name,
        policy_digest="" if policy is None else policy.digest,
        stream=None if request.stream is None else request.stream.to_json(),
        constraints=request.constraints.to_json() or None,
        settings={method: dict(values) for method, values in request.settings.items()},
    )


def request_of(comparison: Comparison) -> api.ComparisonRequest:
    """Its request without its policy, which only its runs need."""
    assert isinstance(comparison.methods, list)
    return api.ComparisonRequest(
        cluster=comparison.cluster_value,
        methods=tuple(str(method) for method in comparison.methods),
        budget=api.Budget(comparison.evaluations, comparison.seconds),
        seeds=comparison.seeds,
        settings=comparison.settings_of_methods,
        drop_devices=comparison.drop_devices,
        stream=None if comparison.stream is None else api.Stream.from_json(comparison.stream),
        constraints=comparison.rules,
    )
