"""Projects: list, create, rename, delete."""

import uuid
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.jobs import deletion
from webapp.pages.projects.page import project_list_page, project_or_404, project_page
from webapp.projects.forms import NewProjectForm, ProjectForm
from webapp.user_errors import refused_form


@require_http_methods(["GET", "HEAD", "POST"])
def project_list(request: HttpRequest) -> HttpResponse:
    """All projects; a POST makes one."""
    if request.method != "POST":
        return project_list_page(request, NewProjectForm())
    form = NewProjectForm(request.POST)
    if form.is_valid():
        return redirect("projects:detail", project_id=form.save().id)
    return refused_form(request, form, partial(project_list_page, request, form))


@require_safe
def detail(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """One project."""
    return project_page(request, project_or_404(project_id))


@require_POST
def rename(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """Rename it."""
    project = project_or_404(project_id)
    form = ProjectForm(request.POST, instance=project)
    if form.is_valid():
        form.save()
        return redirect("projects:detail", project_id=project_id)
    return refused_form(request, form, partial(project_page, request, project_or_404(project_id), rename_form=form))


@require_POST
def delete(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """Delete it with its graphs, their files and their runs; workers notice and stop."""
    deletion.delete(project_or_404(project_id))
    return redirect("projects:list")
