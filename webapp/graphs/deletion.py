"""Graphs and their files go together."""

from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from webapp.graphs.models import Graph


def delete_graphs(graphs: QuerySet[Graph]) -> None:
    """Delete rows, and files once that is certain. A worker that is at one of them stores nothing more."""
    for graph in list(graphs):
        paths = graph.paths  # before the row goes, and with it the id
        graph.delete()
        for path in paths:
            transaction.on_commit(partial(path.unlink, missing_ok=True))
