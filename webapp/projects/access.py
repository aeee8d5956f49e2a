"""Who may see and change which projects, and all that belongs to them: the one place that decides."""

import uuid
from enum import IntEnum
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from webapp.accounts.models import TokenScope
from webapp.accounts.visitor import Visitor, acting
from webapp.projects.models import Membership, Project


class Role(IntEnum):
    """What somebody may do in a project; each includes the ones before."""

    NONE = 0
    """it is not there for them"""
    VIEWER = 1
    """see everything"""
    EDITOR = 2
    """also add, start, change and delete what is in it"""
    OWNER = 3
    """also choose its members, and delete it"""


ROLE_OF = {Membership.VIEWER: Role.VIEWER, Membership.EDITOR: Role.EDITOR, Membership.OWNER: Role.OWNER}
MOST_BY_SCOPE = {TokenScope.READ: Role.VIEWER, TokenScope.WRITE: Role.EDITOR, TokenScope.ADMIN: Role.OWNER}
"""a token's scope → the highest role that it gives"""


def visible_to(visitor: Visitor) -> QuerySet[Project]:
    """The projects that `visitor` may see."""
    if visitor.may_everything:
        return Project.objects.all()
    if visitor.user is None:
        return Project.objects.none()
    mine = Membership.objects.filter(project=OuterRef("pk"), user=visitor.user)
    return Project.objects.filter(Exists(mine) | Q(open_to_all=True))


def editable_by(visitor: Visitor) -> QuerySet[Project]:
    """The projects in which `visitor` may add and start."""
    if visitor.may_everything:
        return Project.objects.all()
    if visitor.user is None or MOST_BY_SCOPE[TokenScope(visitor.scope)] < Role.EDITOR:
        return Project.objects.none()
    roles = (Membership.EDITOR, Membership.OWNER)
    return Project.objects.filter(
        Exists(Membership.objects.filter(project=OuterRef("pk"), user=visitor.user, role__in=roles))
    )


def in_visible_projects(rows: QuerySet[Any], visitor: Visitor, project: str = "project") -> QuerySet[Any]:
    """Those of `rows` that `visitor` may see. `project`: the way to their project, such as `graph__project`."""
    return rows if visitor.may_everything else rows.filter(**{f"{project}__in": visible_to(visitor)})


def role_in(visitor: Visitor, project_id: uuid.UUID) -> Role:
    """The role of `visitor` in a project; NONE if there is no such project."""
    return min(_own_role(visitor, project_id), MOST_BY_SCOPE[TokenScope(visitor.scope)])


def _own_role(visitor: Visitor, project_id: uuid.UUID) -> Role:
    if visitor.may_everything:
        return Role.OWNER
    if visitor.user is None:
        return Role.NONE
    found = Membership.objects.filter(project=project_id, user=visitor.user).values_list("role", flat=True).first()
    if found is not None:
        return ROLE_OF[found]
    is_open = Project.objects.filter(id=project_id, open_to_all=True).exists()
    return Role.VIEWER if is_open else Role.NONE


def store_new(project: Project) -> Project:
    """Store a new project; the user who acts is its owner."""
    project.save(force_insert=True)
    add_owner(project)
    return project


def add_owner(project: Project) -> None:
    """Make the user who acts an owner of `project`; nothing without accounts."""
    user = acting().user
    if user is not None:
        Membership.objects.get_or_create(project=project, user=user, defaults={"role": Membership.OWNER})
