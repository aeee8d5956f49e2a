"""Other runs of a run's graph on its cluster: what a page can compare the run with."""

import uuid

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webapp.pages.runs.page import run_or_404
from webapp.runs.models import Answer, Run
from webapp.runs.requests import of_stream

MOST_LISTED = 100


@require_safe
@never_cache
def others(_request: HttpRequest, run_id: uuid.UUID) -> JsonResponse:
    """The fastest of the other runs that have a placement of this graph on this cluster, and how many there are."""
    found = _others(run_or_404(run_id))
    rows = found.order_by("best_step_time_us", "-created_at", "id")[:MOST_LISTED]
    return JsonResponse({"runs": [_line(run) for run in rows], "count": found.count()})


@require_safe
@never_cache
def other(_request: HttpRequest, run_id: uuid.UUID, other_id: uuid.UUID) -> JsonResponse:
    """The best placement of another run, [groups]. Raises Http404 for a run of another graph or cluster."""
    answer = other_answer_or_404(run_or_404(run_id), other_id)
    return JsonResponse({**_line(answer.run), "placement": answer.device_of_group})


def other_answer_or_404(run: Run, other_id: uuid.UUID) -> Answer:
    """The best placement of another run. Raises Http404 for a run of another graph or cluster."""
    answers = Answer.objects.select_related("run").filter(run__in=_others(run))
    answer = answers.filter(run=other_id).first()
    if answer is None:
        raise Http404("This graph has no such run on this cluster, or it has found no placement that fits.")
    return answer


def _others(run: Run) -> QuerySet[Run]:
    """Those for the same objective: a period is no step time. Without the graph's large columns."""
    same = Run.objects.filter(graph=run.graph_id, cluster=run.cluster, answer__isnull=False, **of_stream(run))
    return same.exclude(id=run.id)


def _line(run: Run) -> dict[str, object]:
    return {
        "id": str(run.id),
        "method": run.method,
        "label": run.method_label,
        "name": run.name,
        "seed": run.seed,
        "step_time_us": run.best_step_time_us,
    }
