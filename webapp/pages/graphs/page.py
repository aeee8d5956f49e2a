"""The graph page, also shown with the errors of its forms."""

import uuid
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.graphs.forms import AgainForm, BeginForm, UploadForm
from webapp.graphs.models import Graph
from webapp.graphs.readings import earlier_readings, is_in_use, newest_reading
from webapp.http.user_errors import row_or_404
from webapp.measuring.forms import ConsentForm
from webapp.option_words import DROP_DEVICES_LABEL
from webapp.pages.graphs.reading_summary import (
    notes_of,
    one_device_of,
    ops_by_reason,
    reading_facts,
    row_facts,
    shares_of,
    tables_of,
    unknown_ops_of,
)
from webapp.pages.run_lines import page_of_lines
from webapp.runs import first_values
from webapp.runs.forms import RunForm
from webapp.runs.models import Run


def graph_or_404(graph_id: uuid.UUID) -> Graph:
    """The graph with its project; raises Http404 with a sentence."""
    return row_or_404(Graph.objects.select_related("project"), graph_id, "graph")


def first_values_of(graph: Graph, run: Run | None) -> dict[str, Any]:
    """The first values of the form of a run: those of `run`, or the devices used last."""
    return first_values.of_project(graph.project) if run is None else first_values.of_run(run)


def run_in_address(graph: Graph, request: HttpRequest) -> Run | None:
    """The run on `graph` that the address names, `?run=`, if it is still there."""
    try:
        run_id = uuid.UUID(request.GET.get("run", ""))
    except ValueError:
        return None
    return Run.objects.filter(graph=graph, id=run_id).select_related("policy").first()


def graph_page(
    request: HttpRequest,
    graph: Graph,
    run_form: RunForm | None = None,
    again_form: AgainForm | None = None,
    profile_form: ConsentForm | None = None,
    begin_form: BeginForm | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """The page of `graph_context`, with the errors of its forms."""
    context = graph_context(request, graph, run_form, again_form, profile_form, begin_form)
    return render(request, "graphs/detail.html", context, status=status)


def graph_context(
    request: HttpRequest,
    graph: Graph,
    run_form: RunForm | None = None,
    again_form: AgainForm | None = None,
    profile_form: ConsentForm | None = None,
    begin_form: BeginForm | None = None,
) -> dict[str, Any]:
    """Context: graph, newest and earlier (readings of its file), project, progress, lines (a page of runs),
    has_methods, upload_limit_bytes; the forms run_form (as the run in the
    address, whose policy may be the lost_policy), begin_form, again_form, profile_form; profiles, measurements,
    can_be_measured; and of the reading summary, facts, shares, unknown, notes, cpu_ops, gpu_ops, fixed_ops,
    drop_devices_label, asked_tables and other_tables.
    """
    again_form = again_form or AgainForm(graph)
    summary = graph.summary if isinstance(graph.summary, dict) else {}
    again = run_in_address(graph, request)
    tables = tables_of(summary, again_form.id_for_trips)
    return {
        "graph": graph,
        "project": graph.project,
        "summary": graph.summary,
        "facts": [*reading_facts(summary), *row_facts(graph, summary)],
        "shares": shares_of(summary),
        "unknown": unknown_ops_of(summary),
        "notes": notes_of(summary),
        "cpu_ops": ops_by_reason(summary, "cpu_ops"),
        "gpu_ops": ops_by_reason(summary, "gpu_ops"),
        "fixed_ops": summary.get("fixed_ops"),
        "drop_devices_label": DROP_DEVICES_LABEL,
        "one_device": one_device_of(summary),
        "progress": graph.progress(),
        "run_form": run_form or RunForm(initial=first_values_of(graph, again), graph=graph),
        "lost_policy": again.policy_name if again is not None and again.policy is None else "",
        "asked_tables": [table for table in tables if table.is_asked],
        "other_tables": [table for table in tables if not table.is_asked],
        "again_form": again_form,
        "newest": newest_reading(graph),
        "earlier": [earlier for earlier in earlier_readings(graph) if is_in_use(earlier)],
        "begin_form": begin_form or BeginForm(graph),
        "profile_form": profile_form or ConsentForm(),
        "profiles": graph.profiles.all(),
        "measurements": graph.measurements.defer("cluster"),
        "can_be_measured": graph.format.is_tensorflow,
        "upload_limit_bytes": UploadForm.limit_bytes(),
        "has_methods": graph.runs.filter(
            status__in=(Run.DONE, Run.CANCELLED), best_step_time_us__isnull=False
        ).exists(),
        "lines": page_of_lines(graph.runs.all(), graph.comparisons.all(), graph.plan_searches.all(), request),
    }
