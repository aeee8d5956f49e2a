"""The task of the `cpu` queue that graphs send."""

from celery import shared_task

from webapp.graphs.models import Graph
from webapp.jobs.turns import do_next


@shared_task(name=Graph.TASK)  # type: ignore[untyped-decorator]  # Celery is untyped
def read(_graph_id: str) -> None:
    """Build, read, cost and group the graph whose turn it is."""
    do_next(Graph.QUEUE)
