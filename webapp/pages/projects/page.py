"""The project pages, also shown with the errors of their forms."""

import uuid
from http import HTTPStatus

from django.db.models import Count, Q
from django.db.models.functions import Coalesce, Lower
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.accounts.visitor import acting
from webapp.graphs.forms import SampleForm, UploadForm
from webapp.graphs.models import Graph
from webapp.graphs.readings import current
from webapp.http.user_errors import row_or_404
from webapp.pages.disk_bytes import of_all, of_each_graph, of_each_project, over_rows
from webapp.pages.pagination import BY_AGE, ListPage, Sorts, asked_of, page_of
from webapp.pages.run_lines import page_of_lines
from webapp.projects.access import is_editable, visible_to
from webapp.projects.forms import NewProjectForm
from webapp.projects.models import Project
from webapp.runs.models import Run


def project_or_404(project_id: uuid.UUID | str) -> Project:
    """The project; raises Http404 with a sentence."""
    return row_or_404(Project.objects.all(), project_id, "project")


PROJECT_SORTS: Sorts = {
    **BY_AGE,
    "name": ("By name", (Lower("name"), "id")),
    "largest": ("Largest first", ("-disk_bytes", "-created_at", "id")),
}
GRAPH_SORTS: Sorts = {
    **BY_AGE,
    "name": ("By name", (Lower("name"), "-created_at", "id")),
    "ops": ("Most ops first", (Coalesce("op_count", -1).desc(), "-created_at", "id")),
    "largest": ("Largest first", ("-disk_bytes", "-created_at", "id")),
}


def project_list_page(request: HttpRequest, form: NewProjectForm, status: int = HTTPStatus.OK) -> HttpResponse:
    """Context: projects (a page, each with its numbers of graphs and runs, and the bytes on the disk), form."""
    asked = asked_of(request, sorts=PROJECT_SORTS)
    found = asked.matching(visible_to(acting()), lambda word: Q(name__icontains=word))
    rows = found.annotate(
        is_editable=is_editable(acting()),
        graph_count=over_rows(Graph, "project", Count("*"), current(Graph.objects.all())),
        run_count=over_rows(Run, "project", Count("*")),
        **of_each_project(),
    )
    page = page_of(rows.order_by(*asked.columns), request, asked, found.count())
    return render(request, "projects/list.html", {"projects": page, "form": form}, status=status)


def _graphs_of(project: Project, request: HttpRequest) -> ListPage:
    asked = asked_of(request, "graphs", GRAPH_SORTS)
    found = asked.matching(current(project.graphs.defer("summary")).annotate(**of_each_graph()), _graph_with)
    return page_of(found.order_by(*asked.columns), request, asked)


def _graph_with(word: str) -> Q:
    return Q(name__icontains=word) | Q(status__icontains=word) | Q(suffix__iexact=word)


def project_page(
    request: HttpRequest,
    project: Project,
    upload_form: UploadForm | None = None,
    sample_form: SampleForm | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """Context: project, graphs and lines (a page of each; lines are of runs), graph_count, disk_bytes (of both),
    upload_limit_bytes, and the forms upload_form, sample_form.
    """
    context = {
        "project": project,
        "graphs": _graphs_of(project, request),
        "graph_count": current(project.graphs.all()).count(),
        "lines": page_of_lines(project.runs.all(), project.comparisons.all(), project.plan_searches.all(), request),
        "disk_bytes": of_all(project.graphs.all(), project.runs.all(), project.plan_searches.all()),
        "upload_form": upload_form or UploadForm(),
        "sample_form": sample_form or SampleForm(),
        "upload_limit_bytes": UploadForm.limit_bytes(),
    }
    return render(request, "projects/detail.html", context, status=status)
