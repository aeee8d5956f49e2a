"""A graph of another number of samples, made of readings instead of a file."""

from django.db import transaction
from django.db.models.functions import Now
from django.http import Http404

from engine import api
from webapp.graphs.models import Graph, PreparedBlob
from webapp.graphs.uploads import files_of, share_file
from webapp.json_field import to_text

LONGEST_NAME = 200


def graph_of_size(reading: Graph, prepared: api.PreparedGraph) -> Graph:
    """Store `prepared`, the graph of `reading` at its own number of samples, as a graph that is ready.

    It shares the file, with which its placements are written, but has no hash of it: its costs are not those that the
    file gives. Raises Http404 if that is gone.
    """
    ending = f" at {prepared.origin.samples:,} samples"
    summary = prepared.summary()
    graph = Graph(
        project=reading.project,
        name=reading.name[: LONGEST_NAME - len(ending)] + ending,
        suffix=reading.suffix,
        file_bytes=reading.file_bytes,
        options=reading.options,
        status=Graph.READY,
        summary=summary,
        op_count=prepared.graph.op_count,
        group_count=prepared.grouping.group_count,
    )
    with files_of(graph), transaction.atomic():
        try:
            share_file(reading.source_path, graph.source_path)
        except FileNotFoundError:
            raise Http404("The graph's file is not on this machine.") from None
        graph.save(force_insert=True)
        Graph.objects.filter(id=graph.id).update(finished_at=Now())
        PreparedBlob.objects.create(graph=graph, blob=prepared.to_bytes(), view=to_text(prepared.view()))
    return graph
