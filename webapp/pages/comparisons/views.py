"""Comparisons: form, start, page, state, cancel, rename, delete, downloads."""

import json
import threading
import uuid
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engine import api
from webapp.access.marks import needs
from webapp.comparisons import lifecycle
from webapp.comparisons.forms import ComparisonForm, first_values_of_comparison
from webapp.comparisons.models import Comparison
from webapp.comparisons.outcomes import outcome_of
from webapp.comparisons.requests import request_of
from webapp.comparisons.state import state_of
from webapp.graphs.models import Graph
from webapp.http.handler import WAITING, in_threads
from webapp.http.user_errors import conflict, refused_form
from webapp.pages.comparisons.page import (
    comparison_or_404,
    context_of,
    outcomes_of,
    report_of,
)
from webapp.pages.deleting import deletion_page
from webapp.pages.graphs.page import graph_or_404, run_in_address
from webapp.pages.renaming import rename as rename_row
from webapp.projects.access import Role
from webapp.runs import first_values

KEPT_FIELDS = (
    *("cluster", "policy", "evaluations", "seconds", "drop_devices"),
    *("objective", "micro_batches", "pipeline", "contiguous", "recompute", "constraints"),
)
"""that the form of a run gives the form of a comparison in its address"""
FIGURE_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
_one_drawing = threading.Lock()


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """The form; a valid one starts a comparison."""
    graph = graph_or_404(graph_id)
    if request.method != "POST":
        return _form_page(request, graph, ComparisonForm(initial=_first_values(request, graph), graph=graph))
    form = ComparisonForm(request.POST, graph=graph)
    if form.is_valid():
        form.require_placeable(graph, form.request)
    if form.is_valid():
        return redirect("comparisons:detail", comparison_id=lifecycle.start(graph, form.request, form.policy_row).id)
    return refused_form(request, form, partial(_form_page, request, graph, form))


def _first_values(request: HttpRequest, graph: Graph) -> dict[str, Any]:
    """The first values of the form: those of the comparison or run that the address names, or else the devices used
    last; and then what the address gives itself, as the form of a run sends it.
    """
    comparison = _comparison_in_address(request, graph)
    run = run_in_address(graph, request)
    if comparison is not None:
        initial = first_values_of_comparison(comparison)
    elif run is not None:
        initial = first_values.of_problem(run, run.evaluations, run.seconds, run.policy)
        initial |= {"drop_devices": run.drop_devices, **first_values.of_stream(run.stream)}
        initial |= first_values.of_constraints(run.constraints)
    else:
        initial = first_values.of_project(graph.project)
    return initial | {name: request.GET[name] for name in KEPT_FIELDS if name in request.GET}


def _comparison_in_address(request: HttpRequest, graph: Graph) -> Comparison | None:
    try:
        comparison_id = uuid.UUID(request.GET.get("comparison", ""))
    except ValueError:
        return None
    return Comparison.objects.filter(graph=graph, id=comparison_id).select_related("policy").first()


def _form_page(
    request: HttpRequest, graph: Graph, form: ComparisonForm, status: HTTPStatus = HTTPStatus.OK
) -> HttpResponse:
    """Context: graph, project, form."""
    context = {"graph": graph, "project": graph.project, "form": form}
    return render(request, "comparisons/form.html", context, status=status)


@require_safe
@never_cache
def detail(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponse:
    """The page; a script updates it while its runs work."""
    return render(request, "comparisons/detail.html", context_of(comparison_or_404(comparison_id)))


@require_safe
@never_cache
def state(request: HttpRequest, comparison_id: uuid.UUID) -> JsonResponse:
    """The state, for scripts."""
    runs = lifecycle.runs_of(comparison_or_404(comparison_id))
    return JsonResponse(state_of(runs, [outcome_of(run) for run in runs]))


@require_safe
@never_cache
def table_part(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponse:
    """The page's table alone. Context: summaries, verdict, in_stream."""
    comparison = comparison_or_404(comparison_id)
    outcomes = outcomes_of(comparison)
    context = {
        "summaries": api.comparison_summaries(outcomes),
        "verdict": api.comparison_verdict(outcomes),
        "in_stream": comparison.stream is not None,
    }
    return render(request, "comparisons/table.html", context)


@require_POST
def cancel(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponse:
    """Cancel all its runs; their answers so far are kept."""
    comparison = comparison_or_404(comparison_id)
    page = redirect("comparisons:detail", comparison_id=comparison_id)
    ended = lifecycle.cancel(comparison) == 0
    return conflict(request, "All runs of this comparison had already ended.", page) if ended else page


@require_POST
def rename(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponse:
    """Give it another name, or none."""
    page = redirect("comparisons:detail", comparison_id=comparison_id)
    return rename_row(request, comparison_or_404(comparison_id), page, may_be_empty=True)


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponse:
    """Ask; a POST deletes it and its runs."""
    comparison = comparison_or_404(comparison_id)
    if request.method != "POST":
        back, runs = reverse("comparisons:detail", args=[comparison_id]), lifecycle.runs_of(comparison)
        note, disk_bytes = f"Its runs go with it: {len(runs)}.", sum(run.event_bytes for run in runs)
        return deletion_page(request, comparison, str(comparison), back, note, disk_bytes)
    lifecycle.delete(comparison)
    return redirect("graphs:detail", graph_id=comparison.graph_id)


@require_safe
@never_cache
def table(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponse:
    """The table as Markdown."""
    comparison = comparison_or_404(comparison_id)
    outcomes = outcomes_of(comparison)
    source, verdict = comparison.graph.step_time_source, api.comparison_verdict(outcomes)
    text = api.comparison_markdown(api.comparison_summaries(outcomes), source, verdict)
    return _attachment(comparison, "comparison.md", text, "text/markdown; charset=utf-8")


@require_safe
@never_cache
def report(request: HttpRequest, comparison_id: uuid.UUID) -> HttpResponse:
    """The report of `python -m engine compare`."""
    comparison = comparison_or_404(comparison_id)
    text = json.dumps(report_of(comparison), indent=1)
    return _attachment(comparison, "comparison.json", text, "application/json")


@in_threads(WAITING)
@require_safe
@never_cache
def figure(request: HttpRequest, comparison_id: uuid.UUID, suffix: str) -> HttpResponse:
    """The figure of `python -m engine compare`, drawn in a child process, one at a time."""
    comparison = comparison_or_404(comparison_id)
    asked, outcomes = request_of(comparison), outcomes_of(comparison)
    with _one_drawing:
        made = api.comparison_figure(comparison.graph.name, asked, outcomes, suffix)
    return _attachment(comparison, f"comparison{suffix}", made, FIGURE_TYPES[suffix])


def _attachment(comparison: Comparison, name: str, content: str | bytes, content_type: str) -> HttpResponse:
    stem = slugify(Path(comparison.graph.name).stem)[:60] or "graph"
    headers = {"Content-Disposition": f'attachment; filename="{stem}-{name}"'}
    return HttpResponse(content, content_type=content_type, headers=headers)
