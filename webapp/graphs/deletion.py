"""Graphs, their profiles and the files of both go together."""

from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from webapp.graphs.models import Graph


def delete_graphs(graphs: QuerySet[Graph]) -> None:
    """Delete rows, and files once that is certain. A worker that is at one of them stores nothing more."""
    for graph in list(graphs):
        # before the rows go, and with them their ids
        paths = [*graph.paths, *(profile.times_path for profile in graph.profiles.all())]
        graph.delete()
        for path in paths:
            transaction.on_commit(partial(path.unlink, missing_ok=True))
