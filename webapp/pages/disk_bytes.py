"""About how much disk the rows of lists take: their files and the events of their runs, by sizes that rows store."""

from typing import Any

from django.db.models import Aggregate, BigIntegerField, F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from webapp.graphs.models import Graph
from webapp.runs.models import Run

FILES = F("file_bytes") + F("times_bytes")
"""of a graph"""
EVENTS = F("event_bytes")
"""of a run"""


def over_rows(
    model: type[Graph] | type[Run], key: str, what: Aggregate, among: QuerySet[Any] | None = None
) -> Coalesce:
    """`what` over the living rows of `model`, or those `among` them, whose `key` is the row of the query.

    A subquery with an index.
    """
    living = model.objects.all() if among is None else among
    rows = living.filter(**{key: OuterRef("pk")}).order_by().values(key).annotate(what=what).values("what")
    return Coalesce(Subquery(rows, output_field=BigIntegerField()), 0)


def of_each_project() -> dict[str, object]:
    """The annotation `disk_bytes` of projects."""
    return {"disk_bytes": over_rows(Graph, "project", Sum(FILES)) + over_rows(Run, "project", Sum(EVENTS))}


def of_each_graph() -> dict[str, object]:
    """The annotation `disk_bytes` of graphs."""
    return {"disk_bytes": FILES + over_rows(Run, "graph", Sum(EVENTS))}


def of_all(graphs: QuerySet[Graph], runs: QuerySet[Run]) -> int:
    """The bytes of `graphs` and `runs` together."""
    return _sum(graphs, FILES) + _sum(runs, EVENTS)


def _sum(rows: QuerySet[Graph] | QuerySet[Run], what: object) -> int:
    return int(rows.aggregate(bytes=Sum(what, default=0))["bytes"])
