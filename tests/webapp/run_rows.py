"""Rows of runs, comparisons and searches that are there, in tests."""

from typing import Any

from engine import api
from tests.webapp.scripted_engine import CLUSTER
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.graphs.models import Graph
from webapp.plans.models import PlanReport, PlanSearch
from webapp.runs.models import Answer, Run


def started(graph: Graph, seed: int = 0, **columns: object) -> Run:
    """A run that is there."""
    return Run.objects.create(
        graph=graph, cluster=CLUSTER, method="random", settings={}, evaluations=9, seed=seed, **columns
    )


def compared(graph: Graph, seeds: int) -> Comparison:
    """A comparison with so many runs, ended."""
    comparison = Comparison.objects.create(graph=graph, cluster=CLUSTER, methods=["random"], seeds=seeds, evaluations=9)
    for seed in range(seeds):
        run = started(graph, seed, status=Run.DONE)
        Answer.objects.create(run=run, step_time_us=1.0, device_of_group=[0, 1, 0], report={})
        ComparedRun.objects.create(comparison=comparison, run=run)
    return comparison


def answered(real_graph: Graph, **columns: object) -> tuple[Run, int]:
    """A run that has ended with its best placement on the first device, and its number of groups."""
    groups = api.PreparedGraph.from_bytes(bytes(real_graph.prepared.blob)).grouping.group_count
    Graph.objects.filter(id=real_graph.id).update(op_count=9)
    fields: dict[str, Any] = {"cluster": CLUSTER, "method": "heft", "settings": {}, "evaluations": 9, "seed": 0}
    fields |= {"status": Run.DONE, "best_step_time_us": 3.0, **columns}
    run = Run.objects.create(graph=real_graph, **fields)
    Answer.objects.create(run=run, step_time_us=3.0, device_of_group=[0] * groups)
    return run, groups


def searched(graph: Graph, *, is_done: bool) -> PlanSearch:
    """A search for plans, with a report if it is done."""
    rules: api.Json = {**api.PlanRules(api.Pipeline.INFERENCE).to_json()}
    search = PlanSearch.objects.create(graph=graph, cluster=CLUSTER, batch=2, seconds=1.0, plan_rules=rules)
    if is_done:
        placed: dict[str, api.Json] = {"device_of_group": [0], "turns": []}
        replica: api.Json = {"devices": [0], "micro_batch": 1, "micro_batches": 2, **placed}
        figures: dict[str, api.Json] = {"batch_time_us": 2.0, "samples_per_second": 1e6, "peak_bytes": [9, 0]}
        plan: api.Json = {**figures, "replicas": [replica], "reduced": [], "is_extrapolated": False}
        counts: dict[str, api.Json] = {"simulated": 1, "left_out": 1, "not_reached": 0, "wall_seconds": 0.1}
        devices: api.Json = ["/device:GPU:0", "/device:GPU:1"]
        rest: dict[str, api.Json] = {"batch": 2, "stopped": False, "devices": devices, "usual": {"data_parallel": plan}}
        PlanReport.objects.create(search=search, content={**counts, **rest, "plans": [plan]})
        PlanSearch.objects.filter(id=search.id).update(status=PlanSearch.DONE)
    return search
