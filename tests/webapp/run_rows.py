"""Rows of runs and comparisons that are there, in tests."""

from tests.webapp.scripted_engine import CLUSTER
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.graphs.models import Graph
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
