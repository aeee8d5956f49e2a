"""About how much disk the rows of lists take: their files and the events of their runs, by sizes that rows store."""

from typing import Any

from django.db.models import Aggregate, BigIntegerField, F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from webapp.graphs.models import Graph
from webapp.plans.models import PlanSearch
from webapp.runs.models import Run

FILES = F("file_bytes") + F("times_bytes")
"""of a graph"""
EVENTS = F("event_bytes")
"""of a run, or of a search for plans"""


def over_rows(
    model: type[Graph] | type[Run] | type[PlanSearch], key: str, what: Aggregate, among: QuerySet[Any] | None = None
) -> Coalesce:
    """`what` over the living rows of `model`, or those `among` them, whose `key` is the row of the query.

    A subquery with an index.
    """
    living = model.objects.all() if among is None else among
    rows = living.filter(**{key: OuterRef("pk")}).order_by().values(key).annotate(what=what).values("what")
    return Coalesce(Subquery(rows, output_field=BigIntegerField()), 0)


def of_each_project() -> dict[str, object]:
    """The annotation `disk_bytes` of projects."""
    return {"disk_bytes": over_rows(Graph, "project", Sum(FILES)) + _events("project")}


def of_each_graph() -> dict[str, object]:
    """The annotation `disk_bytes` of graphs."""
    return {"disk_bytes": FILES + _events("graph")}


def of_all(graphs: QuerySet[Graph], runs: QuerySet[Run], searches: QuerySet[PlanSearch]) -> int:
    """The bytes of `graphs`, `runs` and `searches` together."""
    return _sum(graphs, FILES) + _sum(runs, EVENTS) + _sum(searches, EVENTS)


def _events(key: str) -> Any:
    return over_rows(Run, key, Sum(EVENTS)) + over_rows(PlanSearch, key, Sum(EVENTS))


def _sum(rows: QuerySet[Graph] | QuerySet[Run] | QuerySet[PlanSearch], what: object) -> int:
    return int(rows.aggregate(bytes=Sum(what, default=0))["bytes"])
