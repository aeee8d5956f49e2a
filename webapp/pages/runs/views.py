"""Runs: start, page, state, cancel, rename, delete."""

import uuid
from functools import partial

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.access.marks import needs
from webapp.http.user_errors import conflict, refused_form
from webapp.jobs import deletion
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.pages.deleting import deletion_page
from webapp.pages.graphs.page import graph_or_404, graph_page
from webapp.pages.renaming import rename as rename_row
from webapp.pages.runs.page import run_context, run_or_404, run_to_json
from webapp.projects.access import Role
from webapp.runs import lifecycle
from webapp.runs.forms import RunForm

RUN_NOTE = "Its episodes and its answer go with it."


@require_POST
def create(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """Start a run."""
    graph = graph_or_404(graph_id)
    form = RunForm(request.POST, graph=graph)
    if form.is_valid():
        form.require_placeable(graph, form.request)
    if form.is_valid():
        return redirect("runs:detail", run_id=lifecycle.start(graph, form.request, form.policy_row).id)
    return refused_form(request, form, partial(graph_page, request, graph, run_form=form))


@require_safe
@never_cache
def detail(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Its page."""
    return render(request, "runs/detail.html", run_context(run_or_404(run_id)))


@require_safe
@never_cache
def run_json(request: HttpRequest, run_id: uuid.UUID) -> JsonResponse:
    """The run, for scripts."""
    return JsonResponse(run_to_json(run_or_404(run_id)))


@require_POST
def cancel(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Cancel it; its answer so far is kept."""
    run = run_or_404(run_id)
    page = redirect("runs:detail", run_id=run_id)
    return page if cancel_job(run) else conflict(request, "This run had already ended.", page)


@require_POST
def rename(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Give it another name, or none."""
    return rename_row(request, run_or_404(run_id), redirect("runs:detail", run_id=run_id), may_be_empty=True)


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Ask; a POST deletes it and its events; a worker notices and stops."""
    run = run_or_404(run_id)
    if request.method != "POST":
        back = reverse("runs:detail", args=[run_id])
        return deletion_page(request, run, str(run), back, RUN_NOTE, run.event_bytes)
    deletion.delete(run)
    return redirect("graphs:detail", graph_id=run.graph_id)
