"""Kept placements: list, keep, upload, show, explain, rename, delete, download."""

import json
import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import BinaryIO

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from engine import api
from webapp.access.marks import needs
from webapp.capacity import a_slot_to_explain
from webapp.form_errors import form_errors
from webapp.graphs.incoming import IncomingFile
from webapp.http.handler import EXPLAINING, WAITING, in_threads
from webapp.http.user_errors import error_answer, row_or_404
from webapp.jobs import deletion
from webapp.jobs.models import Event
from webapp.pages.explorer.drawings import FOR_A_DAY
from webapp.pages.explorer.views import BaseKind, base_of, hand_made, integers, kept_of
from webapp.pages.placements.page import placement_or_404, placement_to_json, whole_to_json
from webapp.pages.runs.downloads import NAMES, attachment, module_file, placed, refusal_of
from webapp.pages.runs.page import run_or_404
from webapp.placements import keeping
from webapp.placements.models import Placement
from webapp.projects.access import Role
from webapp.runs import lifecycle
from webapp.runs.method_labels import methods_from_a_start
from webapp.runs.models import Run
from webapp.runs.requests import new_start, request_from
from webapp.runs.sessions import session_of

OF_ANOTHER_GRAPH = "This placement is of another graph or cluster."
NO_FILE = "No file was chosen; allowed: a placement as JSON {op: device}."


@require_safe
@never_cache
def kept(request: HttpRequest, run_id: uuid.UUID) -> JsonResponse:
    """The placements that the run's page can show, the newest first."""
    return JsonResponse({"placements": [placement_to_json(row) for row in keeping.kept_for(run_or_404(run_id))]})


@in_threads(EXPLAINING)
@require_POST
def keep(request: HttpRequest, run_id: uuid.UUID) -> JsonResponse:
    """Keep the placement that `hand_made` reads, with `name` and `locked`, optional.

    One made of an event's placement is kept with that event; if it is no other one, `is_moved` false, as from the run.
    """
    run = run_or_404(run_id)
    given = hand_made(session_of(run), run, request)
    kind_of_base, base = base_of(request) or (None, "")
    parent = kept_of(run, base) if kind_of_base is BaseKind.KEPT else None
    seq = _event(run, base) if kind_of_base is BaseKind.EVENT else None
    kind = Placement.RUN if seq is not None and request.POST.get("is_moved") == "false" else Placement.HAND
    locked = integers(request, "locked") if "locked" in request.POST else []
    placement = keeping.keep(run, request.POST.get("name", ""), given, keeping.MadeFrom(kind, seq, parent), locked)
    return JsonResponse(placement_to_json(placement), status=HTTPStatus.CREATED)


def _event(run: Run, text: str) -> int:
    """The number of an event of the run. Raises PlacementError."""
    if not (text.isdecimal() and len(text) < 19 and Event.objects.filter(job_id=run.id, seq=int(text)).exists()):
        raise api.PlacementError("no such event", where="base", allowed="an event of the run", field="base")
    return int(text)


@in_threads(WAITING)
@require_POST
def upload(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Keep an uploaded placement JSON of the run's graph and cluster: field `file`."""
    run = run_or_404(run_id)
    file = request.FILES.get("file")
    if not isinstance(file, IncomingFile):
        return error_answer(request, HTTPStatus.BAD_REQUEST, {"file": [NO_FILE]})
    return JsonResponse(placement_to_json(keeping.keep_upload(run, file)), status=HTTPStatus.CREATED)


@require_safe
@never_cache
def whole(request: HttpRequest, placement_id: uuid.UUID) -> JsonResponse:
    """The placement with the device of each group; with `run`, the id of a run, only if that run's page can show it."""
    placement = placement_or_404(placement_id)
    if "run" in request.GET:
        run = row_or_404(Run.objects.filter(project=placement.project_id), request.GET["run"], "run")
        if not keeping.belongs_to(placement, run):
            raise Http404(OF_ANOTHER_GRAPH)
    return JsonResponse(whole_to_json(placement))


@in_threads(EXPLAINING)
@require_safe
def explanation(request: HttpRequest, placement_id: uuid.UUID) -> HttpResponse:
    """Why it takes as long as it does, as docs/formats.md describes it. A placement never changes."""
    placement = placement_or_404(placement_id)
    session = session_of(placement)
    content = api.explanation_to_bytes(session, session.explain(keeping.given_of(placement)))
    return HttpResponse(content, content_type="application/octet-stream", headers={"Cache-Control": FOR_A_DAY})


@require_POST
def rename(request: HttpRequest, placement_id: uuid.UUID) -> JsonResponse:
    """Give it the name `name`."""
    placement = placement_or_404(placement_id)
    keeping.rename(placement, request.POST.get("name", ""))
    return JsonResponse(placement_to_json(placement))


@require_POST
def delete(request: HttpRequest, placement_id: uuid.UUID) -> JsonResponse:
    """Delete it."""
    deletion.delete(placement_or_404(placement_id))
    return JsonResponse({})


@in_threads(EXPLAINING)
@require_POST
def go_on(request: HttpRequest, run_id: uuid.UUID) -> JsonResponse:
    """Start a run from the placement that `hand_made` reads, with the `locked` groups pinned.

    `method` and `evaluations` as in the form of a run; `words` say what the placement is, and `token` names what it was
    made of.
    """
    run = run_or_404(run_id)
    session = session_of(run)
    given = hand_made(session, run, request)
    session.require_allowed(given)
    placement = session.levels_of(given)
    locked, groups = integers(request, "locked"), len(placement.device_of_group)
    if not all(0 <= group < groups for group in locked):
        raise api.PlacementError("no such group", where="locked", allowed=f"0 to {groups - 1}", field="locked")
    form = GoOnForm(request.POST)
    if not form.is_valid():
        return JsonResponse({"errors": form_errors(form)}, status=HTTPStatus.BAD_REQUEST)
    asked = form.cleaned_data
    api.require_can_split(session.prepared, asked["method"], placement)
    run_request = request_from(run, asked["method"], asked["evaluations"], placement, locked)
    start = new_start(run_request, asked["words"], run, asked["token"])
    started = lifecycle.start(run.graph, run_request, from_start=start)
    return JsonResponse({"url": reverse("runs:detail", args=[started.id])}, status=HTTPStatus.CREATED)


class GoOnForm(forms.Form):
    """The budget and the method of a run that goes on from a placement."""

    method = forms.ChoiceField(choices=methods_from_a_start)
    evaluations = forms.IntegerField()
    words = forms.CharField(max_length=300)
    token = forms.RegexField(r"^[\w-]{0,120}$", required=False)


@in_threads(WAITING)
@require_safe
@never_cache
def download(request: HttpRequest, placement_id: uuid.UUID, name: str) -> HttpResponse | StreamingHttpResponse:
    """The file `name` of a kept placement."""
    placement = placement_or_404(placement_id)
    return _download(request, placement, name, lambda: keeping.given_of(placement))


@needs(Role.VIEWER)
@in_threads(WAITING)
@require_POST
def download_by_hand(request: HttpRequest, run_id: uuid.UUID, name: str) -> HttpResponse | StreamingHttpResponse:
    """The file `name` of a placement by hand, which `hand_made` reads."""
    run = run_or_404(run_id)
    return _download(request, run, name, lambda: hand_made(session_of(run), run, request))


def _download(
    request: HttpRequest, row: Run | Placement, name: str, given_of: Callable[[], api.GivenPlacement]
) -> HttpResponse | StreamingHttpResponse:
    graph = row.graph
    if (refusal := refusal_of(graph, name)) is not None:
        return error_answer(request, HTTPStatus.CONFLICT, {"": [refusal]})
    with a_slot_to_explain():
        session = session_of(row)
        device_of_op = api.devices_to_json(session.prepared, session.cluster, given_of().device_of_op)
    content: bytes | BinaryIO
    if name.startswith("placed"):
        content = placed(graph, device_of_op, name)
    elif api.module_file_of(name) is not None:
        content = module_file(session.prepared, session.cluster, device_of_op, name)
    else:
        content = json.dumps(device_of_op, indent=1).encode()
    return attachment(graph, name, NAMES[name][0], content)
