"""Members of a project: list, add or change, remove; and whether everybody may see it."""

import uuid

from django.http import Http404, HttpRequest
from ninja import Status
from pydantic import BaseModel, ConfigDict, Field

from webapp.access.marks import AccessRule, ruled
from webapp.accounts import audit
from webapp.accounts.models import User
from webapp.api.answers import NOTHING, one_of
from webapp.api.form_schemas import FormBody, fields_of, filled
from webapp.api.operations.projects import ProjectOut, project_out
from webapp.api.routing import ApiRouter
from webapp.pages.members.views import NOT_A_MEMBER, MemberForm, owners_only
from webapp.pages.projects.page import project_or_404
from webapp.projects.access import Role
from webapp.projects.members import remove_member, set_role
from webapp.projects.models import Membership, Project

router = ApiRouter(tags=["Members"])

seen_by_members = ruled(AccessRule(role=Role.VIEWER, accounts=True))


class MemberOut(BaseModel):
    """A member of a project."""

    username: str
    role: str = Field(json_schema_extra=one_of(dict(Membership.ROLES)))


class MembersOut(BaseModel):
    """The members, by name."""

    items: list[MemberOut]


@fields_of(MemberForm, required=("role",), left_out=("username",))
class MemberBody(FormBody):
    """A role."""


class OpenBody(BaseModel):
    """Whether everybody who has an account may see it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    open_to_all: bool


def member_out(membership: Membership) -> MemberOut:
    """The member as an answer."""
    return MemberOut(username=membership.user.username, role=membership.role)


@router.get("/projects/{uuid:project_id}/members", response=MembersOut)
@seen_by_members
def list_members(request: HttpRequest, project_id: uuid.UUID) -> MembersOut:
    """List the members of a project."""
    rows = project_or_404(project_id).memberships.select_related("user")
    return MembersOut(items=[member_out(row) for row in rows])


@router.put("/projects/{uuid:project_id}/members/{username}", response=MemberOut)
@owners_only
def set_member(request: HttpRequest, project_id: uuid.UUID, username: str, body: MemberBody) -> MemberOut:
    """Add a member, or change their role. A project keeps an owner."""
    project = project_or_404(project_id)
    chosen = filled(MemberForm, body, {"username": username}).cleaned_data
    member = set_role(project, chosen["username"], chosen["role"])
    audit.tell(request, "user", member.user_id, f"{member.user.username}: {member.role}")
    return member_out(member)


@router.delete("/projects/{uuid:project_id}/members/{username}", response={NOTHING: None})
@owners_only
def delete_member(request: HttpRequest, project_id: uuid.UUID, username: str) -> Status[None]:
    """Remove a member. A project keeps an owner."""
    project = project_or_404(project_id)
    user = User.objects.filter(memberships__project=project, username__iexact=username).first()
    if user is None or not remove_member(project, user):
        raise Http404(NOT_A_MEMBER)
    audit.tell(request, "user", user.id, f"{user.username}: no member")
    return Status(NOTHING, None)


@router.put("/projects/{uuid:project_id}/open-to-all", response=ProjectOut)
@owners_only
def open_project(request: HttpRequest, project_id: uuid.UUID, body: OpenBody) -> ProjectOut:
    """Let everybody who has an account see a project, or its members alone."""
    Project.objects.filter(id=project_or_404(project_id).id).update(open_to_all=body.open_to_all)
    return project_out(project_or_404(project_id))
