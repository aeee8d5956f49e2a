"""Profiles: start, progress, cancel, download, use."""

import uuid
from functools import partial
from pathlib import Path

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from webapp.graphs.models import Graph
from webapp.http.large_answers import FileAnswer
from webapp.http.user_errors import conflict, refused_form, row_or_404
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.measuring import lifecycle
from webapp.measuring.forms import ConsentForm
from webapp.measuring.models import Profile
from webapp.pages.graphs.page import graph_or_404, graph_page

NOT_READY = "This graph has not been read yet; it can be measured once it is ready."
NOT_TENSORFLOW = "This graph was uploaded as {}, which TensorFlow cannot run; there is nothing to measure."
"""with the format's words"""
UNDER_WAY = "This graph is already being measured."
NO_TIMES = "This measurement has no times: it has not ended, or it failed."


@require_POST
def create(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """Measure the graph's op times."""
    graph = graph_or_404(graph_id)
    form = ConsentForm(request.POST)
    if fault := graph_fault(graph):
        form.add_error(None, fault)
    if not form.is_valid():
        return refused_form(request, form, partial(graph_page, request, graph, profile_form=form))
    if lifecycle.start_profile(graph) is None:
        return conflict(request, UNDER_WAY, _back(graph))
    return _back(graph)


@require_POST
def cancel(request: HttpRequest, profile_id: uuid.UUID) -> HttpResponse:
    """Cancel it."""
    profile = profile_or_404(profile_id)
    if not cancel_job(profile):
        return conflict(request, "This measurement had already ended.", _back(profile.graph))
    return _back(profile.graph)


@require_safe
@never_cache
def download(request: HttpRequest, profile_id: uuid.UUID) -> FileAnswer:
    """Its RunMetadata."""
    profile = profile_or_404(profile_id)
    if not profile.is_done or not profile.times_path.exists():
        raise Http404(NO_TIMES)
    name = slugify(Path(profile.graph.name).stem)[:60] or "graph"
    return FileAnswer(
        profile.times_path.open("rb"),
        content_type="application/octet-stream",
        headers={"Content-Disposition": f'attachment; filename="{name}-run-metadata.pb"'},
    )


@require_POST
def use(request: HttpRequest, profile_id: uuid.UUID) -> HttpResponse:
    """Read the graph's file as another graph, with these times."""
    profile = profile_or_404(profile_id)
    if not profile.is_done:
        return conflict(request, NO_TIMES, _back(profile.graph))
    return redirect("graphs:detail", graph_id=lifecycle.read_with_its_times(profile).id)


def graph_fault(graph: Graph) -> str:
    """Why no worker can run the graph; empty if one can."""
    if not graph.is_ready:
        return NOT_READY
    return "" if graph.format.is_tensorflow else NOT_TENSORFLOW.format(graph.format.words)


def profile_or_404(profile_id: uuid.UUID) -> Profile:
    """The profile with its graph; raises Http404 with a sentence."""
    return row_or_404(Profile.objects.select_related("graph__project"), profile_id, "measurement")


def _back(graph: Graph) -> HttpResponse:
    return redirect("graphs:detail", graph_id=graph.id)
