"""Starts runs."""

from functools import partial

from django.db import transaction
from django.http import Http404

from engine import api
from webapp.graphs.models import Graph
from webapp.jobs.publishing import publish_soon
from webapp.policies.models import Policy
from webapp.runs.models import Run, RunStart


def new_run(graph: Graph, request: api.RunRequest, policy: Policy | None = None) -> Run:
    """A run that is not stored yet."""
    return Run(
        graph=graph,
        cluster=api.cluster_to_json(request.cluster),
        method=request.method,
        settings=dict(request.settings),
        evaluations=request.budget.evaluations,
        seconds=request.budget.seconds,
        seed=request.seed,
        drop_devices=request.drop_devices,
        prefer=request.prefer.words,
        policy=policy,
        policy_name="" if policy is None else policy.name,
        policy_digest="" if policy is None else policy.digest,
    )


def start(
    graph: Graph, request: api.RunRequest, policy: Policy | None = None, from_start: RunStart | None = None
) -> Run:
    """Queue a run on a graph that is ready, with a policy that has a file.

    `from_start`, a row that is not stored yet, is stored with it.
    """
    run = new_run(graph, request, policy)
    with transaction.atomic():
        if not Graph.objects.select_for_update().filter(id=graph.id).exists():
            raise Http404("This graph has been deleted meanwhile.")
        if policy is not None and not Policy.objects.select_for_update().filter(id=policy.id).exists():
            raise Http404("This policy has been deleted meanwhile.")
        run.save(force_insert=True)
        if from_start is not None:
            from_start.run = run
            from_start.save(force_insert=True)
        transaction.on_commit(partial(publish_soon, Run, run.id))
    return run
