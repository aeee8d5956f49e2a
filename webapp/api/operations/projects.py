"""Projects: list, make, show, rename, delete."""

import uuid
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from ninja import Query, Status
from pydantic import BaseModel, Field

from webapp.api.answers import CREATED, NOTHING, begun
from webapp.api.form_schemas import FormBody, fields_of, filled
from webapp.api.paging import PageOut, PageQuery, page_of_rows
from webapp.api.renaming import NameBody, renamed
from webapp.api.routing import ApiRouter
from webapp.jobs import deletion
from webapp.pages.projects.page import project_or_404
from webapp.projects.forms import NewProjectForm
from webapp.projects.models import Project

router = ApiRouter(tags=["Projects"])


class ProjectOut(BaseModel):
    """A project."""

    id: uuid.UUID
    name: str
    created_at: datetime = Field(description="ISO 8601, in UTC.")


class ProjectPage(PageOut[ProjectOut]):
    """A page of projects, newest first."""


@fields_of(NewProjectForm)
class ProjectBody(FormBody):
    """A name; without one, the project gets one of ours."""


def project_out(project: Project) -> ProjectOut:
    """The project as an answer."""
    return ProjectOut(id=project.id, name=project.name, created_at=project.created_at)


@router.get("/projects", response=ProjectPage)
def list_projects(request: HttpRequest, query: Query[PageQuery]) -> object:
    """List the projects, newest first."""
    return page_of_rows(Project.objects.all(), query, project_out)


@router.post("/projects", response={CREATED: ProjectOut})
def make_project(request: HttpRequest, body: ProjectBody, response: HttpResponse) -> Status[ProjectOut]:
    """Make a project; without a name, it gets one of ours."""
    project = filled(NewProjectForm, body).save()
    return begun(response, "show_project", project.id, project_out(project), CREATED)


@router.get("/projects/{uuid:project_id}", response=ProjectOut)
def show_project(request: HttpRequest, project_id: uuid.UUID) -> ProjectOut:
    """Show a project."""
    return project_out(project_or_404(project_id))


@router.patch("/projects/{uuid:project_id}", response=ProjectOut)
def change_project(request: HttpRequest, project_id: uuid.UUID, body: NameBody) -> ProjectOut:
    """Rename a project."""
    renamed(project_or_404(project_id), body)
    return project_out(project_or_404(project_id))


@router.delete("/projects/{uuid:project_id}", response={NOTHING: None})
def delete_project(request: HttpRequest, project_id: uuid.UUID) -> Status[None]:
    """Delete a project with its graphs, their files and their runs; workers notice and stop."""
    deletion.delete(project_or_404(project_id))
    return Status(NOTHING, None)
