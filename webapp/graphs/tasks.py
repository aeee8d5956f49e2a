"""The task of the `cpu` queue that reads graphs."""

import uuid

from celery import shared_task

from webapp.graphs.models import Graph
from webapp.graphs.reading import read_graph


@shared_task(name=Graph.TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def read(graph_id: str) -> None:
    """Build, read, cost and group one graph."""
    read_graph(uuid.UUID(graph_id))
