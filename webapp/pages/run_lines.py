"""Lists of runs, where a comparison, or a search for plans, is one line."""

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import Case, CharField, Count, F, FloatField, Min, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from engine import api
from webapp.comparisons.models import Comparison
from webapp.pages.pagination import BY_AGE, ListPage, Sorts, asked_of, page_of
from webapp.plans.models import PlanSearch
from webapp.runs.method_labels import method_labels
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
class PlanLine:
    """A search for plans."""

    search: PlanSearch

    @property
    def id(self) -> UUID:
        """The search's id."""
        return self.search.id


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
    event_bytes: int
    """about what the events of all runs take on the disk"""

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


SLOWEST = 1e300
"""in place of a step time where there is none"""
AFTER_STEPS = 1e150
"""times a period: more than any step time in µs, less than `SLOWEST`"""


def _fastest(best_us: Any) -> Case:
    """What orders rows by `best_us`: step times first, then the periods of streams, which no step compares with."""
    return Case(When(stream__isnull=True, then=best_us), default=best_us * AFTER_STEPS, output_field=FloatField())


FASTEST_RUN = Coalesce(_fastest(F("best_step_time_us")), SLOWEST)
RUN_SORTS: Sorts = {
    **BY_AGE,
    "fastest": ("Fastest first", (FASTEST_RUN, "-created_at", "id")),
    "method": ("By method", ("method", "-created_at", "id")),
}
LINE_SORTS: Sorts = {
    "newest": ("Newest first", ("-created_at", "id")),
    "oldest": ("Oldest first", ("created_at", "id")),
    "fastest": ("Fastest first", ("rank", "-created_at", "id")),
    "method": ("By method", ("rank", "-created_at", "id")),
}
RUN_RANKS: dict[str, Any] = {"fastest": FASTEST_RUN, "method": F("method")}
COMPARISON_RANKS: dict[str, Any] = {
    "fastest": Coalesce(_fastest(Min("compared_runs__run__best_step_time_us", filter=LIVING)), SLOWEST),
    "method": Value("comparison", output_field=CharField()),
}
SEARCH_RANKS: dict[str, Any] = {
    "fastest": Coalesce(F("best_batch_us") * AFTER_STEPS, SLOWEST, output_field=FloatField()),
    "method": Value("plans", output_field=CharField()),
}
"""order → what a line of that kind is sorted by, before its age"""


def page_of_runs(runs: QuerySet[Run], request: HttpRequest) -> ListPage:
    """A page of lines, one for each run. Raises Http404."""
    asked = asked_of(request, sorts=RUN_SORTS)
    found = asked.matching(runs, _run_with).order_by(*asked.columns)
    page = page_of(found.select_related("graph").defer(LARGE), request, asked)
    page.object_list = [RunLine(run) for run in page.object_list]
    return page


def page_of_lines(
    runs: QuerySet[Run], comparisons: QuerySet[Comparison], searches: QuerySet[PlanSearch], request: HttpRequest
) -> ListPage:
    """A page of lines: `runs` that belong to no comparison, `comparisons`, and `searches`. Raises Http404."""
    asked = asked_of(request, sorts=LINE_SORTS)
    alone = asked.matching(runs.filter(compared=None), _run_with)
    comparisons = asked.matching(comparisons, _comparison_with)
    searches = asked.matching(searches, _search_with)
    keys = _keys(alone, "run", RUN_RANKS.get(asked.sort)).union(
        _keys(comparisons, "comparison", COMPARISON_RANKS.get(asked.sort)),
        _keys(searches, "search", SEARCH_RANKS.get(asked.sort)),
        all=True,
    )
    count = alone.count() + comparisons.count() + searches.count()
    page = page_of(keys.order_by(*asked.columns), request, asked, count)
    order = {key: place for place, (_, key, *_) in enumerate(page.object_list)}
    ids = {kind: [key for _, key, of, *_ in page.object_list if of == kind] for kind in ("run", "comparison", "search")}
    own_runs = runs.filter(id__in=ids["run"])
    own_comparisons = comparisons.filter(id__in=ids["comparison"])
    own_searches = searches.filter(id__in=ids["search"])
    lines: list[RunLine | ComparisonLine | PlanLine] = []
    lines += [RunLine(run) for run in own_runs.select_related("graph").defer(LARGE)]
    lines += comparison_lines(own_comparisons.select_related("graph").defer(LARGE))
    lines += [PlanLine(search) for search in own_searches.select_related("graph").defer(LARGE)]
    page.object_list = sorted(lines, key=lambda line: order[line.id])
    return page


def _run_with(word: str) -> Q:
    """Runs whose name, method, graph, policy or status has `word` in it."""
    methods = [name for name, label in method_labels().items() if word.lower() in label.lower()]
    columns = (
        Q(name__icontains=word)
        | Q(graph__name__icontains=word)
        | Q(policy_name__icontains=word)
        | Q(status__icontains=word)
    )
    return columns | Q(method__in=methods) | Q(method__icontains=word)


def _comparison_with(word: str) -> Q:
    """Comparisons whose name, graph, policy or one of whose methods has `word` in it; all of them for what they are."""
    if word.lower() in "comparison":
        return Q()
    names = [name for name, label in method_labels().items() if word.lower() in f"{name} {label}".lower()]
    methods = [Q(methods__contains=name) for name in names]  # as JSON: in quotes
    columns = Q(name__icontains=word) | Q(graph__name__icontains=word) | Q(policy_name__icontains=word)
    return reduce(or_, methods, columns)


def _search_with(word: str) -> Q:
    """Searches whose name, graph or status has `word` in it; all of them for what they are."""
    if word.lower() in "plans":
        return Q()
    return Q(name__icontains=word) | Q(graph__name__icontains=word) | Q(status__icontains=word)


def _keys(rows: QuerySet[Any], kind: str, rank: Any = None) -> QuerySet[Any, Any]:
    """(created_at, id, `kind`, and `rank` if there is one) of each, by which a list is sorted."""
    columns = ("created_at", "id", Value(kind, output_field=CharField()))
    if rank is None:
        return rows.order_by().values_list(*columns)
    ranked: QuerySet[Any, Any] = rows.order_by().annotate(rank=rank).values_list(*columns, "rank")
    return ranked


def comparison_lines(comparisons: QuerySet[Comparison]) -> list[ComparisonLine]:
    """The line of each comparison."""
    rows = comparisons.annotate(
        total=Count("compared_runs", filter=LIVING),
        ended=Count("compared_runs", filter=ENDED),
        begun=Count("compared_runs", filter=BEGUN),
        best_us=Min("compared_runs__run__best_step_time_us", filter=LIVING),
        used=Sum("compared_runs__run__evaluations_used", filter=LIVING, default=0),
        budgets=Sum("compared_runs__run__evaluations", filter=LIVING, default=0),
        bytes=Sum("compared_runs__run__event_bytes", filter=LIVING, default=0),
    )
    return [
        ComparisonLine(row, row.total, row.ended, row.begun, row.best_us, row.used, row.budgets, row.bytes)
        for row in rows
    ]
