"""Starts runs."""

from functools import partial

from django.db import transaction
from django.http import Http404

from engine import api
from webapp.accounts import quotas
from webapp.graphs.models import Graph
from webapp.jobs.publishing import publish_soon
from webapp.jobs.reaper import unended_runs
from webapp.policies.models import Policy
from webapp.runs.models import Run, RunStart
from webapp.runs.requests import new_run


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
        quotas.require_run(run.evaluations, run.seconds, unended_runs())
        run.save(force_insert=True)
        if from_start is not None:
            from_start.run = run
            from_start.save(force_insert=True)
        transaction.on_commit(partial(publish_soon, Run.QUEUE))
    return run
