"""Starts, cancels and deletes comparisons."""

from django.db import transaction

from engine import api
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.comparisons.requests import new_comparison
from webapp.graphs.models import Graph
from webapp.jobs import deletion
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.policies.models import Policy
from webapp.runs import lifecycle as runs
from webapp.runs.models import Run


def start(graph: Graph, request: api.ComparisonRequest, policy: Policy | None = None) -> Comparison:
    """Queue the runs on a graph that is ready, seed by seed, so that every method soon shows a result.

    `policy`: the row of the request's policy.
    """
    with transaction.atomic():
        comparison = new_comparison(graph, request, policy)
        comparison.save(force_insert=True)
        for method, seed in sorted(request.members(), key=lambda method_and_seed: method_and_seed[1]):
            run_request = request.run_request(method, seed)
            run_policy = policy if request.takes_policy(method) else None
            ComparedRun.objects.create(comparison=comparison, run=runs.start(graph, run_request, run_policy))
    return comparison


def cancel(comparison: Comparison) -> int:
    """Cancel the runs that have not ended; returns how many."""
    return sum(cancel_job(run) for run in runs_of(comparison))


def delete(comparison: Comparison) -> None:
    """Delete it and its runs; workers notice and stop."""
    with transaction.atomic():
        deletion.delete(comparison)
        deletion.delete_all(Run.objects.filter(compared__comparison=comparison))


def runs_of(comparison: Comparison) -> list[Run]:
    """Its runs, in the order of the methods, then of the seeds."""
    assert isinstance(comparison.methods, list)
    order = {str(method): index for index, method in enumerate(comparison.methods)}
    rows = (
        Run.objects.filter(compared__comparison=comparison)
        .select_related("graph", "answer", "summary")
        .defer("graph__summary")
    )
    return sorted(rows, key=lambda run: (order.get(run.method, len(order)), run.seed))
