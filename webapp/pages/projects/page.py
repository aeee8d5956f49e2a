"""The project pages, also shown with the errors of their forms."""

import uuid
from http import HTTPStatus

from django.db.models import F, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.graphs.forms import SampleForm, UploadForm
from webapp.pages.pagination import page_of
from webapp.pages.run_lines import page_of_lines
from webapp.projects.forms import NewProjectForm, ProjectForm
from webapp.projects.models import Project
from webapp.user_errors import row_or_404


def project_or_404(project_id: uuid.UUID | str) -> Project:
    """The project; raises Http404 with a sentence."""
    return row_or_404(Project.objects.all(), project_id, "project")


def project_list_page(request: HttpRequest, form: NewProjectForm, status: int = HTTPStatus.OK) -> HttpResponse:
    """Context: projects (a page), form."""
    context = {"projects": page_of(Project.objects.all(), request), "form": form}
    return render(request, "projects/list.html", context, status=status)


def project_page(
    request: HttpRequest,
    project: Project,
    upload_form: UploadForm | None = None,
    sample_form: SampleForm | None = None,
    rename_form: ProjectForm | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """Context: project, graphs and lines (a page of each; lines are of runs), run_count, files_bytes (of all graphs),
    upload_limit_bytes, and the forms upload_form, sample_form, rename_form.
    """
    runs = project.runs.all()
    context = {
        "project": project,
        "graphs": page_of(project.graphs.defer("summary"), request, "graphs"),
        "lines": page_of_lines(runs, project.comparisons.all(), request),
        "run_count": runs.count(),
        "files_bytes": project.graphs.aggregate(bytes=Sum(F("file_bytes") + F("times_bytes"), default=0))["bytes"],
        "upload_form": upload_form or UploadForm(),
        "sample_form": sample_form or SampleForm(),
        "rename_form": rename_form or ProjectForm(instance=project),
        "upload_limit_bytes": UploadForm.limit_bytes(),
    }
    return render(request, "projects/detail.html", context, status=status)
