"""The graph of a row, as the engine has it."""

import json
from typing import Any

from django.http import Http404

from engine import api
from webapp.graphs.models import Graph, PreparedBlob
from webapp.json_field import to_text

NOT_READ = "This graph has not been read yet."

SHORT_NAME = "short_name"
"""the key of a group's name for people"""
HAS_SHORT_NAMES = f'"{SHORT_NAME}":'
"""only a key of the stored JSON is written so: a quote in a name is escaped"""


def view_of(graph: Graph) -> dict[str, Any]:
    """`PreparedGraph.view()`, laid out when the graph was read. Raises Http404 until then."""
    view: dict[str, Any] = json.loads(view_text_of(graph))
    return view


def view_text_of(graph: Graph) -> str:
    """The same as JSON: as it is stored, with short names, which earlier versions did not store."""
    stored = PreparedBlob.objects.filter(graph=graph).values_list("view", flat=True).first()
    if stored is None:
        raise Http404(NOT_READ)
    if HAS_SHORT_NAMES in stored:
        return stored
    view: dict[str, Any] = json.loads(stored)
    for group, short_name in zip(view["groups"], prepared_of(graph).short_names_of_groups(), strict=True):
        group[SHORT_NAME] = short_name
    return to_text(view)


def prepared_of(graph: Graph) -> api.PreparedGraph:
    """The graph as it was read. Raises Http404 until then."""
    prepared = PreparedBlob.objects.filter(graph=graph).only("blob").first()
    if prepared is None:
        raise Http404(NOT_READ)
    return prepared.value
