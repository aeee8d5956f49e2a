"""The readings of one file: a newer one takes the place of an older one, which stays for the work that used it."""

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from webapp.graphs.models import Graph
from webapp.jobs import deletion

WORK = ("runs", "comparisons", "plan_searches", "profiles", "measurements")
"""what is made with a reading, and shows it"""
LONGEST_CHAIN = 1000


def current(graphs: QuerySet[Any]) -> QuerySet[Any]:
    """`graphs` without those that have been read again since."""
    newer = Graph.objects.filter(read_again_from=OuterRef("pk"), status=Graph.READY)
    return graphs.filter(~Exists(newer))


def next_reading(graph: Graph) -> Graph | None:
    """The reading that took the place of `graph`'s; None if none has."""
    return Graph.objects.filter(read_again_from=graph, status=Graph.READY).first()


def newest_reading(graph: Graph) -> Graph:
    """The reading that counts now: `graph` itself unless it has been read again."""
    for _ in range(LONGEST_CHAIN):
        newer = next_reading(graph)
        if newer is None:
            break
        graph = newer
    return graph


def earlier_readings(graph: Graph) -> list[Graph]:
    """The readings in whose place `graph`'s came, the newest first."""
    found: list[Graph] = []
    while graph.read_again_from_id is not None and len(found) < LONGEST_CHAIN:
        earlier = Graph.objects.filter(id=graph.read_again_from_id).first()
        if earlier is None:
            break
        found.append(earlier)
        graph = earlier
    return found


def is_in_use(graph: Graph) -> bool:
    """Whether anything has been made with this reading."""
    return any(getattr(graph, name).exists() for name in WORK)


def delete_with_readings(graph: Graph) -> None:
    """Delete it, and the earlier readings that nothing uses: one of them would come back in its place."""
    unused = [earlier for earlier in earlier_readings(graph) if not is_in_use(earlier)]
    for row in (graph, *unused):
        deletion.delete(row)
