"""Opens a replica of a plan in the explorer: as a run of its placement alone, on the replica's devices."""

from typing import Any

import numpy as np
from django.db import transaction
from django.http import Http404

from engine import api
from webapp.graphs.models import Graph
from webapp.graphs.sized import graph_of_size
from webapp.plans.models import OpenedReplica, PlanReport, PlanSearch, SizedGraph
from webapp.plans.requests import model_of, request_of
from webapp.runs import lifecycle
from webapp.runs.models import Run
from webapp.runs.requests import new_start

NO_PLAN = "This search has no such plan, or no such replica."


def run_of_replica(search: PlanSearch, plan: str, replica: int) -> Run:
    """The run that shows a replica, started now unless it was before. Raises Http404, or a PlacetoError."""
    row = replica_of(search, plan, replica)
    with transaction.atomic():
        if not PlanSearch.objects.select_for_update().filter(id=search.id).exists():
            raise Http404("This search has been deleted meanwhile.")
        opened = OpenedReplica.objects.filter(search=search, plan=plan, replica=replica, run__deleted_at=None).first()
        if opened is not None:
            return opened.run
        graph = _graph_of(search, row["micro_batch"])
        request = api.replica_request(request_of(search), row)
        run = lifecycle.start(graph, request, from_start=new_start(request, f"a replica of {search}"[:300], None, ""))
        run.name = _name_of(search, row, replica)
        run.save(update_fields=["name"])
        OpenedReplica.objects.create(search=search, run=run, plan=plan, replica=replica)
    return run


def replica_of(search: PlanSearch, plan: str, replica: int) -> dict[str, Any]:
    """The row of a replica in the report. Raises Http404."""
    stored = PlanReport.objects.filter(search=search).first()
    report: Any = {} if stored is None else stored.content
    plans = {str(index): one for index, one in enumerate(report.get("plans", ()))} | report.get("usual", {})
    replicas = (plans.get(plan) or {}).get("replicas", ())
    if not 0 <= replica < len(replicas) or replicas[replica]["turns"]:
        raise Http404(NO_PLAN)
    row: dict[str, Any] = replicas[replica]
    return row


def _name_of(search: PlanSearch, row: dict[str, Any], replica: int) -> str:
    """`Replica 2: GPU:0 + GPU:2, 8 × 4 samples`."""
    names = [device.name for device in search.cluster_value.devices]
    devices = api.replica_words(row, names)
    return f"Replica {replica + 1}: {devices}, {row['micro_batches']} × {row['micro_batch']} samples"[:200]


def _graph_of(search: PlanSearch, samples: int) -> Graph:
    """The reading of so many samples that has the plan's groups, or a graph made of both readings."""
    model = model_of(search)
    for reading in filter(None, (search.graph, search.second)):
        if _is_of(reading.prepared.value, model, samples):
            return reading
    assert search.second is not None, "with one reading, micro-batches have its size"
    made = SizedGraph.objects.filter(
        first=search.graph, second=search.second, samples=samples, graph__deleted_at=None
    ).first()
    if made is not None:
        return made.graph
    graph = graph_of_size(search.graph, model.at(samples))
    SizedGraph.objects.create(graph=graph, first=search.graph, second=search.second, samples=samples)
    return graph


def _is_of(reading: api.PreparedGraph, model: api.ModelByBatch, samples: int) -> bool:
    """Whether it was read at `samples`, in the groups that the plan's placements number."""
    same_groups = np.array_equal(reading.grouping.group_of_op, model.prepared.grouping.group_of_op)
    return api.samples_of(reading) == samples and same_groups
