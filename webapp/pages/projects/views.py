"""Projects: list, create, rename, delete."""

import uuid
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.access.marks import needs
from webapp.http.user_errors import refused_form
from webapp.jobs import deletion
from webapp.pages.deleting import deletion_page
from webapp.pages.disk_bytes import of_all
from webapp.pages.projects.page import project_list_page, project_or_404, project_page
from webapp.pages.renaming import rename as rename_row
from webapp.projects.access import Role
from webapp.projects.forms import NewProjectForm


@require_http_methods(["GET", "HEAD", "POST"])
def project_list(request: HttpRequest) -> HttpResponse:
    """All projects; a POST makes one."""
    if request.method != "POST":
        return project_list_page(request, NewProjectForm())
    form = NewProjectForm(request.POST)
    if form.is_valid():
        return redirect("projects:detail", project_id=form.store().id)
    return refused_form(request, form, partial(project_list_page, request, form))


@require_safe
def detail(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """One project."""
    return project_page(request, project_or_404(project_id))


@require_POST
def rename(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """Rename it."""
    return rename_row(request, project_or_404(project_id), redirect("projects:detail", project_id=project_id))


@needs(Role.OWNER)
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """Ask; a POST deletes it with its graphs, their files and their runs; workers notice and stop."""
    project = project_or_404(project_id)
    if request.method != "POST":
        back = reverse("projects:detail", args=[project_id])
        disk_bytes = of_all(project.graphs.all(), project.runs.all(), project.plan_searches.all())
        return deletion_page(request, project, project.name, back, disk_bytes=disk_bytes)
    deletion.delete(project)
    return redirect("projects:list")
