"""How the best step time of a run's seeds spreads: the range and the median over runs that differ in the seed alone."""

import dataclasses
import uuid

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from engine import api
from webapp.comparisons.outcomes import outcome_of
from webapp.http.handler import EXPLAINING, in_threads
from webapp.pages.runs.page import run_or_404
from webapp.runs.models import Run, RunStart
from webapp.runs.requests import of_stream

MOST_LOOKED_AT = 500
"""of the newest runs of the same graph and method"""
MOST_SEEDS = 50


@in_threads(EXPLAINING)
@require_safe
def band(_request: HttpRequest, run_id: uuid.UUID) -> JsonResponse:
    """The band over the seeds, as docs/formats.md describes it, from the summaries that runs store."""
    run = run_or_404(run_id)
    runs = alike(run)
    [summary] = api.comparison_summaries([outcome_of(each) for each in runs])
    answer = {"seeds": sorted(each.seed for each in runs), "band": dataclasses.asdict(summary.band)}
    return JsonResponse(answer, headers={"Cache-Control": "no-store"})


def alike(run: Run) -> list[Run]:
    """`run` and the ended runs that differ from it in the seed alone, the newest one of each seed.

    Runs that go on from a placement are left out: they did not begin alike.
    """
    same = {"method": run.method, "evaluations": run.evaluations, "seconds": run.seconds}
    same |= {"drop_devices": run.drop_devices, "policy_digest": run.policy_digest, **of_stream(run)}
    fresh = Run.objects.filter(graph=run.graph_id, status=Run.DONE, start__isnull=True, **same)
    rows = fresh.select_related("summary", "answer").order_by("-created_at")
    found = {run.seed: run}
    if RunStart.objects.filter(run=run).exists():
        return [run]  # no other began where it did
    for each in rows[:MOST_LOOKED_AT]:
        is_alike = (each.cluster, each.settings, each.constraints) == (run.cluster, run.settings, run.constraints)
        if is_alike and len(found) < MOST_SEEDS:
            found.setdefault(each.seed, each)
    return list(found.values())
