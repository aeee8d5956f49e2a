"""Projects: list, make, show, rename, delete."""

import uuid
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from ninja import Query, Status
from pydantic import BaseModel, Field

from webapp.access.marks import needs
from webapp.accounts.visitor import acting
from webapp.api.answers import CREATED, NOTHING, begun, one_of, out_of
from webapp.api.form_schemas import FormBody, fields_of, filled
from webapp.api.once import makes_once
from webapp.api.paging import PageOut, PageQuery, page_of_rows
from webapp.api.renaming import NameBody, renamed
from webapp.api.routing import ApiRouter
from webapp.jobs import deletion
from webapp.pages.projects.page import project_or_404
from webapp.projects.access import Role, known_role, role_in, visible_with_roles
from webapp.projects.forms import NewProjectForm
from webapp.projects.models import Project

router = ApiRouter(tags=["Projects"])

ROLES = [role.name.lower() for role in Role if role is not Role.NONE]


class ProjectOut(BaseModel):
    """A project."""

    id: uuid.UUID
    name: str
    role: str = Field(json_schema_extra=one_of(ROLES), description="What you may do in it.")
    open_to_all: bool = Field(description="Whether everybody who has an account may see it.")
    created_at: datetime = Field(description="ISO 8601, in UTC.")


class ProjectPage(PageOut[ProjectOut]):
    """A page of projects, newest first."""


@fields_of(NewProjectForm)
class ProjectBody(FormBody):
    """A name; without one, the project gets one of ours."""


def project_out(project: Project, role: Role | None = None) -> ProjectOut:
    """The project as an answer. `role`: the visitor's, if it is known already."""
    known = role_in(acting(), project.id) if role is None else role
    return out_of(ProjectOut, project, role=known.name.lower())


@router.get("/projects", response=ProjectPage)
def list_projects(request: HttpRequest, query: Query[PageQuery]) -> object:
    """List the projects, newest first."""
    visitor = acting()
    return page_of_rows(
        visible_with_roles(visitor), query, lambda project: project_out(project, known_role(visitor, project))
    )


@router.post("/projects", response={CREATED: ProjectOut})
@makes_once
def make_project(request: HttpRequest, body: ProjectBody, response: HttpResponse) -> Status[ProjectOut]:
    """Make a project; without a name, it gets one of ours."""
    project = filled(NewProjectForm, body).store()
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
@needs(Role.OWNER)
def delete_project(request: HttpRequest, project_id: uuid.UUID) -> Status[None]:
    """Delete a project with its graphs, their files and their runs; workers notice and stop."""
    deletion.delete(project_or_404(project_id))
    return Status(NOTHING, None)
