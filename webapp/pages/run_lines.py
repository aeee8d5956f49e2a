"""Lists of runs, where a comparison is one line."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.paginator import Page
from django.db.models import CharField, Count, Min, Q, QuerySet, Sum, Value
from django.http import HttpRequest

from engine import api
from webapp.comparisons.models import Comparison
from webapp.pages.pagination import page_of
from webapp.runs.models import Run

LIVING = Q(compared_runs__run__deleted_at=None, compared_runs__run__isnull=False)
ENDED = LIVING & Q(compared_runs__run__status__in=(Run.DONE, Run.FAILED, Run.CANCELLED))
LARGE = "graph__summary"
"""a large column of each row's graph, which no list shows"""
BEGUN = (LIVING & Q(compared_runs__run__status=Run.RUNNING)) | ENDED


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run that belongs to no comparison."""

    run: Run

    @property
    def id(self) -> UUID:
        """The run's id."""
        return self.run.id


@dataclass(frozen=True, slots=True)
class ComparisonLine:
    """A comparison with all of its runs."""

    comparison: Comparison
    total: int
    ended: int
    begun: int
    """running or ended"""
    best_step_time_us: float | None
    evaluations_used: int
    evaluations: int
    """sum of the budgets of all runs"""

    @property
    def id(self) -> UUID:
        """The comparison's id."""
        return self.comparison.id

    @property
    def status(self) -> str:
        """The status, in the words of a run."""
        if self.ended == self.total:
            return Run.DONE
        return Run.RUNNING if self.begun else Run.QUEUED

    @property
    def words(self) -> str:
        """`7 of 12 ended`; empty once all have."""
        return "" if self.ended == self.total else f"{self.ended} of {self.total} ended"

    def to_json(self) -> dict[str, api.Json]:
        """For the script that updates the line."""
        return {
            "status": self.status,
            "stage": self.words,
            "best_step_time_us": self.best_step_time_us,
            "evaluations_used": self.evaluations_used,
        }


def page_of_runs(runs: QuerySet[Run], request: HttpRequest) -> Page[RunLine]:
    """A page of lines, one for each run. Raises Http404."""
    page = page_of(runs.select_related("graph").defer(LARGE), request)
    page.object_list = [RunLine(run) for run in page.object_list]
    return page


def page_of_lines(
    runs: QuerySet[Run], comparisons: QuerySet[Comparison], request: HttpRequest
) -> Page[RunLine | ComparisonLine]:
    """A page of lines, the newest first: `runs` that belong to no comparison, and `comparisons`. Raises Http404."""
    alone = runs.filter(compared=None)
    keys = _keys(alone, "run").union(_keys(comparisons, "comparison"), all=True)
    page = page_of(keys.order_by("-created_at", "id"), request, count=alone.count() + comparisons.count())
    order = {key: place for place, (_, key, _) in enumerate(page.object_list)}
    own_runs = runs.filter(id__in=[key for _, key, kind in page.object_list if kind == "run"])
    own_comparisons = comparisons.filter(id__in=[key for _, key, kind in page.object_list if kind == "comparison"])
    lines: list[RunLine | ComparisonLine] = [RunLine(run) for run in own_runs.select_related("graph").defer(LARGE)]
    lines += comparison_lines(own_comparisons.select_related("graph").defer(LARGE))
    page.object_list = sorted(lines, key=lambda line: order[line.id])
    return page


def _keys(rows: QuerySet[Any], kind: str) -> QuerySet[Any, Any]:
    """(created_at, id, `kind`) of each, by which a list is sorted."""
    return rows.order_by().values_list("created_at", "id", Value(kind, output_field=CharField()))


def comparison_lines(comparisons: QuerySet[Comparison]) -> list[ComparisonLine]:
    """The line of each comparison."""
    rows = comparisons.annotate(
        total=Count("compared_runs", filter=LIVING),
        ended=Count("compared_runs", filter=ENDED),
        begun=Count("compared_runs", filter=BEGUN),
        best_us=Min("compared_runs__run__best_step_time_us", filter=LIVING),
        used=Sum("compared_runs__run__evaluations_used", filter=LIVING, default=0),
        budgets=Sum("compared_runs__run__evaluations", filter=LIVING, default=0),
    )
    return [ComparisonLine(row, row.total, row.ended, row.begun, row.best_us, row.used, row.budgets) for row in rows]
