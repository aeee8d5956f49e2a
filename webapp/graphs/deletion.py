"""Deletes graphs and their profiles with the files of both."""

from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from webapp.graphs.models import Graph


def delete_graphs(graphs: QuerySet[Graph]) -> None:
    """Delete the rows, and the files after the commit. A worker on one of them stores nothing more."""
    for graph in list(graphs):
        # before the rows are deleted, and their ids with them
        paths = [*graph.paths, *(profile.times_path for profile in graph.profiles.all())]
        graph.delete()
        for path in paths:
            transaction.on_commit(partial(path.unlink, missing_ok=True))
