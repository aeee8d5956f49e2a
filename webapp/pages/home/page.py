"""The home page, also shown with the errors of its forms."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.graphs.forms import UploadForm
from webapp.projects.first_project import NAME
from webapp.projects.forms import NewProjectForm
from webapp.projects.models import Project

RECENT = 6


def home_page(request: HttpRequest, upload_form: UploadForm | None = None, status: int = HTTPStatus.OK) -> HttpResponse:
    """Context: projects (the newest), more (whether there are others), name_for_uploads, project_form, upload_form,
    upload_limit_bytes.
    """
    projects = list(Project.objects.all()[: RECENT + 1])
    context = {
        "projects": projects[:RECENT],
        "name_for_uploads": NAME,
        "more": len(projects) > RECENT,
        "project_form": NewProjectForm(),
        "upload_form": upload_form or UploadForm(),
        "upload_limit_bytes": UploadForm.limit_bytes(),
    }
    return render(request, "home/home.html", context, status=status)
