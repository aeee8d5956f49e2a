"""Starts jobs of which a graph has one at a time."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import transaction
from django.http import Http404

from webapp.accounts import quotas
from webapp.graphs.models import Graph
from webapp.jobs.publishing import publish_soon


def start_alone(job: Any, store_rest: Callable[[], object] = lambda: None) -> bool:
    """Queue `job`, a job with a `graph`, unless one of its kind is queued or works on that graph: then False.

    `store_rest` stores what belongs to it. Raises Http404 if the graph has been deleted, QuotaError if
    the user who acts may not run graphs on the machine, as such jobs do.
    """
    model = type(job)
    with transaction.atomic():
        if not Graph.objects.select_for_update().filter(id=job.graph_id).exists():
            raise Http404("This graph has been deleted meanwhile.")
        quotas.require_measuring()
        if model.objects.filter(graph=job.graph_id, status__in=(model.QUEUED, model.WORKING)).exists():
            return False
        job.save(force_insert=True)
        store_rest()
        transaction.on_commit(partial(publish_soon, model.QUEUE))
    return True
