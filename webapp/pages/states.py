"""The states of jobs: one answer for all rows of a page."""

import uuid
from collections.abc import Callable, Collection
from typing import Any

from django.db.models import Model, QuerySet
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from engine import api
from webapp.accounts.visitor import acting
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.jobs.job import StagedJob
from webapp.measuring.models import Calibration, Profile, StepMeasurement
from webapp.pages.run_lines import comparison_lines
from webapp.plans.models import PlanSearch
from webapp.policies.models import Policy
from webapp.policies.offered import visible_policies
from webapp.projects.access import in_visible_projects
from webapp.runs.models import Run

MOST_AT_ONCE = 200
"""jobs; their ids then fit in the 8 KiB that proxies allow for an address"""
MOST_QUOTED = 40

Ids = Collection[uuid.UUID]
States = dict[uuid.UUID, dict[str, Any]]
STAGED = ("id", "status", "stage", "stage_done", "stage_total", "error")
RUN = ("status", "error", "evaluations_used", "best_step_time_us")


def _seen(rows: QuerySet[Any], model: type[Model]) -> QuerySet[Any]:
    """Those that the visitor may see."""
    if model is Calibration:
        return rows
    return visible_policies(rows, acting()) if model is Policy else in_visible_projects(rows, acting(), WAYS[model])


WAYS: dict[type[Model], str] = {
    Graph: "project",
    Run: "project",
    Comparison: "graph__project",
    PlanSearch: "graph__project",
    Profile: "graph__project",
    StepMeasurement: "graph__project",
}
"""kind → the way to its project"""


def _staged(model: type[StagedJob]) -> Callable[[Ids], States]:
    def states(ids: Ids) -> States:
        return {job.id: job.progress() for job in _seen(model._default_manager.filter(id__in=ids), model).only(*STAGED)}

    return states


def _runs(ids: Ids) -> States:
    return {row.pop("id"): row for row in _seen(Run.objects.filter(id__in=ids), Run).values("id", *RUN)}


def _searches(ids: Ids) -> States:
    rows = _seen(PlanSearch.objects.filter(id__in=ids), PlanSearch).only(
        "status", "error", "best_batch_us", "plans_told"
    )
    return {
        row.id: {**row.progress(), "best_step_time_us": row.best_batch_us, "evaluations_used": row.plans_told}
        for row in rows
    }


def _comparisons(ids: Ids) -> States:
    lines = comparison_lines(_seen(Comparison.objects.filter(id__in=ids), Comparison))
    return {line.comparison.id: line.to_json() for line in lines}


KINDS: dict[str, Callable[[Ids], States]] = {
    "graph": _staged(Graph),
    "profile": _staged(Profile),
    "calibration": _staged(Calibration),
    "measurement": _staged(StepMeasurement),
    "policy": _staged(Policy),
    "run": _runs,
    "comparison": _comparisons,
    "plans": _searches,
}
"""kind of job → function that reads the states of those that exist"""


@require_safe
@never_cache
def states(request: HttpRequest) -> JsonResponse:
    """`?run=ID,ID&graph=ID`: kind → id → state, without deleted jobs. One query for each kind."""
    asked = {kind: _ids(kind, request.GET[kind]) for kind in KINDS if request.GET.get(kind)}
    count = sum(map(len, asked.values()))
    if count > MOST_AT_ONCE:
        raise api.SettingsError(f"{count} ids", where="states.json", allowed=f"at most {MOST_AT_ONCE} at once")
    return JsonResponse(
        {kind: {key.hex: state for key, state in KINDS[kind](ids).items()} for kind, ids in asked.items()}
    )


def _ids(kind: str, text: str) -> list[uuid.UUID]:
    """The ids of the address. Raises SettingsError, which becomes a 4xx answer."""
    ids = []
    for word in text.split(",", MOST_AT_ONCE + 1):
        try:
            ids.append(uuid.UUID(word))
        except ValueError:
            raise api.SettingsError(
                repr(word[:MOST_QUOTED]), where=kind, allowed="ids with commas between", field=kind
            ) from None
    return ids
