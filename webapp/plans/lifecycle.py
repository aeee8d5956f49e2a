"""Starts searches for plans."""

from functools import partial

from django.db import transaction
from django.http import Http404

from engine import api
from webapp.accounts import quotas
from webapp.graphs.models import Graph
from webapp.jobs.publishing import publish_soon
from webapp.jobs.reaper import unended_runs
from webapp.plans.models import PlanSearch
from webapp.plans.requests import new_search


def start(graph: Graph, second: Graph | None, request: api.PlanRequest) -> PlanSearch:
    """Queue a search on graphs that are ready."""
    search = new_search(graph, second, request)
    with transaction.atomic():
        for reading in filter(None, (graph, second)):
            if not Graph.objects.select_for_update().filter(id=reading.id).exists():
                raise Http404("This graph has been deleted meanwhile.")
        quotas.require_run(0, search.seconds, unended_runs())
        search.save(force_insert=True)
        transaction.on_commit(partial(publish_soon, PlanSearch.QUEUE))
    return search
