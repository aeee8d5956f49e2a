"""The home page, also shown with the errors of its forms."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.accounts.visitor import acting
from webapp.example.opening import LONGEST_SECONDS
from webapp.graphs.forms import SampleForm, UploadForm
from webapp.projects.access import visible_to
from webapp.projects.first_project import NAME
from webapp.projects.forms import NewProjectForm

RECENT = 6


def home_page(
    request: HttpRequest,
    upload_form: UploadForm | None = None,
    sample_form: SampleForm | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """Context: projects (the newest), more (whether there are others), name_for_uploads, project_form, upload_form,
    sample_form, upload_limit_bytes, own_run_seconds (the time limit of a run of one's own on the example).
    """
    projects = list(visible_to(acting())[: RECENT + 1])
    context = {
        "projects": projects[:RECENT],
        "name_for_uploads": NAME,
        "more": len(projects) > RECENT,
        "project_form": NewProjectForm(),
        "upload_form": upload_form or UploadForm(),
        "sample_form": sample_form or SampleForm(),
        "own_run_seconds": LONGEST_SECONDS,
        "upload_limit_bytes": UploadForm.limit_bytes(),
    }
    return render(request, "home/home.html", context, status=status)
