"""Exports of one placement of a run: of an event, made by hand, or its best."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from django.http import Http404, HttpRequest

from engine import api
from webapp.pages.events import LARGEST_SEQ, integer_in_address
from webapp.pages.explorer.views import hand_made, placement_at
from webapp.pages.runs.downloads import NOTHING_YET
from webapp.runs.models import Answer, Run
from webapp.runs.sessions import session_of


@dataclass(frozen=True)
class ShownPlacement:
    """A placement of a run, and what explains it once it is asked for."""

    run: Run
    session: api.Session
    placement: api.GivenPlacement

    @cached_property
    def explanation(self) -> api.Explanation:
        return self.session.explain(self.placement)


def shown_placement(request: HttpRequest, run: Run) -> ShownPlacement:
    """The one in the field `placement` of a POST, else that of `?event=`, else the run's best.

    Raises PlacementError, LimitError; Http404 where there is none.
    """
    session = session_of(run)
    given = hand_made(session, run, request) if request.method == "POST" else session.by_levels(_stored(request, run))
    return ShownPlacement(run, session, given)


def _stored(request: HttpRequest, run: Run) -> api.SplitPlacement:
    if "event" in request.GET:
        seq = integer_in_address("event", request.GET["event"], lowest=1, highest=LARGEST_SEQ)
        return placement_at(run.id, seq)
    best = Answer.objects.filter(run=run).first()
    if best is None:
        raise Http404(NOTHING_YET)
    return best.placement


def _groups(shown: ShownPlacement) -> str:
    return api.groups_csv(shown.session, shown.placement, shown.explanation)


def _chain(shown: ShownPlacement) -> str:
    return api.chain_csv(shown.session, shown.explanation)


def _trace(shown: ShownPlacement) -> str:
    return json.dumps(api.explained_trace(shown.session, shown.explanation))


def _graph(shown: ShownPlacement) -> str:
    return api.model_explorer_graph(shown.session, shown.placement, shown.explanation, shown.run.graph.name)


def _devices(shown: ShownPlacement) -> str:
    return api.device_node_data(shown.session, shown.placement)


def _times(shown: ShownPlacement) -> str:
    return api.time_node_data(shown.session, shown.explanation)


JSON, CSV = "application/json", "text/csv; charset=utf-8"
OF_PLACEMENT: dict[str, tuple[str, Callable[[ShownPlacement], str]]] = {
    "groups.csv": (CSV, _groups),
    "chain.csv": (CSV, _chain),
    "trace.json": (JSON, _trace),
    "model-explorer.json": (JSON, _graph),
    "model-explorer-devices.json": (JSON, _devices),
    "model-explorer-times.json": (JSON, _times),
}
"""name → (content type, function that makes it)"""
