"""The graph of a row, as the engine has it."""

from django.http import Http404

from engine import api
from webapp.graphs.models import Graph, PreparedBlob


def prepared_of(graph: Graph) -> api.PreparedGraph:
    """The graph as it was read. Raises Http404 until then."""
    prepared = PreparedBlob.objects.filter(graph=graph).only("blob").first()
    if prepared is None:
        raise Http404("This graph has not been read yet.")
    return prepared.value
