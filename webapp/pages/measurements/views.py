"""Measurements of placements: form, start, page, cancel, delete, report."""

import json
import uuid
from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.access.marks import needs
from webapp.graphs.models import Graph
from webapp.http.user_errors import conflict, refused_form, row_or_404
from webapp.jobs import deletion
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.measuring import lifecycle
from webapp.measuring.candidates import candidates_of
from webapp.measuring.forms import MeasurementForm
from webapp.measuring.models import StepMeasurement
from webapp.pages.deleting import deletion_page
from webapp.pages.graphs.page import graph_or_404
from webapp.pages.measurements.result import result_of
from webapp.pages.profiles.views import graph_fault
from webapp.pages.runs.downloads import attachment
from webapp.projects.access import Role

UNDER_WAY = "Placements of this graph are already being measured."
NO_RESULT = "This measurement has no result: it has not ended, or it failed."


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """The form; a valid one starts a measurement."""
    graph = graph_or_404(graph_id)
    candidates = candidates_of(graph)
    if request.method != "POST":
        return _form_page(request, graph, MeasurementForm(candidates))
    form = MeasurementForm(candidates, request.POST)
    if fault := graph_fault(graph):
        form.add_error(None, fault)
    if not form.is_valid():
        return refused_form(request, form, partial(_form_page, request, graph, form))
    named = {name: form.cleaned_data[name] for name in ("one_device", "others", "rounds", "steps")}
    measurement = lifecycle.start_measurement(graph, form.chosen, **named)
    if measurement is None:
        return conflict(request, UNDER_WAY, redirect("graphs:detail", graph_id=graph.id))
    return redirect("measurements:detail", measurement_id=measurement.id)


def _form_page(
    request: HttpRequest, graph: Graph, form: MeasurementForm, status: HTTPStatus = HTTPStatus.OK
) -> HttpResponse:
    """Context: graph, project, form, graph_fault."""
    context = {"graph": graph, "project": graph.project, "form": form, "graph_fault": graph_fault(graph)}
    return render(request, "measurements/form.html", context, status=status)


@require_safe
@never_cache
def detail(request: HttpRequest, measurement_id: uuid.UUID) -> HttpResponse:
    """Its page. Context: measurement, graph, project, placements, result (None until it is done)."""
    measurement = measurement_or_404(measurement_id)
    placements = list(measurement.placements.select_related("run").defer("device_of_group", "parts"))
    context = {
        "measurement": measurement,
        "graph": measurement.graph,
        "project": measurement.graph.project,
        "placements": placements,
        "result": result_of(measurement.result, placements) if measurement.is_done else None,
    }
    return render(request, "measurements/detail.html", context)


@require_safe
@never_cache
def report(request: HttpRequest, measurement_id: uuid.UUID) -> HttpResponse:
    """The report of `python -m engine measure` for these placements, with what each of them is."""
    measurement = measurement_or_404(measurement_id)
    if not measurement.is_done:
        raise Http404(NO_RESULT)
    found: Any = measurement.result
    words = measurement.placements.values_list("words", flat=True)
    rows = [{"words": each, **row} for each, row in zip(words, found["placements"], strict=True)]
    text = json.dumps(found | {"cluster": measurement.cluster, "placements": rows}, indent=1)
    answer = attachment(measurement.graph, "measurement.json", "application/json", text.encode())
    assert isinstance(answer, HttpResponse)
    return answer


@require_POST
def cancel(request: HttpRequest, measurement_id: uuid.UUID) -> HttpResponse:
    """Cancel it."""
    page = redirect("measurements:detail", measurement_id=measurement_id)
    if not cancel_job(measurement_or_404(measurement_id)):
        return conflict(request, "This measurement had already ended.", page)
    return page


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, measurement_id: uuid.UUID) -> HttpResponse:
    """Ask; a POST deletes it; a worker notices and stops."""
    measurement = measurement_or_404(measurement_id)
    if request.method != "POST":
        back = reverse("measurements:detail", args=[measurement_id])
        return deletion_page(request, measurement, str(measurement), back, "The runs stay.")
    deletion.delete(measurement)
    return redirect("graphs:detail", graph_id=measurement.graph_id)


def measurement_or_404(measurement_id: uuid.UUID) -> StepMeasurement:
    """The measurement with its graph and project; raises Http404 with a sentence."""
    return row_or_404(StepMeasurement.objects.select_related("graph__project"), measurement_id, "measurement")
