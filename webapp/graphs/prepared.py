"""The graph of a row, as the engine has it."""

import json
from typing import Any

from django.http import Http404

from engine import api
from webapp.graphs.models import Graph, PreparedBlob

NOT_READ = "This graph has not been read yet."

SHORT_NAME = "short_name"
"""the key of a group's name for people"""


def view_of(graph: Graph) -> dict[str, Any]:
    """`PreparedGraph.view()`, laid out when the graph was read. Raises Http404 until then.

    Earlier versions stored no short names, so they are found here.
    """
    stored = PreparedBlob.objects.filter(graph=graph).values_list("view", flat=True).first()
    if stored is None:
        raise Http404(NOT_READ)
    view: dict[str, Any] = json.loads(stored)
    groups = view["groups"]
    if groups and SHORT_NAME not in groups[0]:
        for group, short_name in zip(groups, prepared_of(graph).short_names_of_groups(), strict=True):
            group[SHORT_NAME] = short_name
    return view


def prepared_of(graph: Graph) -> api.PreparedGraph:
    """The graph as it was read. Raises Http404 until then."""
    prepared = PreparedBlob.objects.filter(graph=graph).only("blob").first()
    if prepared is None:
        raise Http404(NOT_READ)
    return prepared.value
