"""Who may see and change which projects, and all that belongs to them: the one place that decides."""

import uuid
from enum import IntEnum
from typing import Any

from django.db.models import BooleanField, CharField, Exists, F, Func, OuterRef, Q, QuerySet, UUIDField, Value

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
NO_WORD = Value(None, CharField())


def visible_to(visitor: Visitor) -> QuerySet[Project]:
    """The projects that `visitor` may see."""
    return in_visible_projects(Project.objects.all(), visitor, "")


def editable_by(visitor: Visitor) -> QuerySet[Project]:
    """The projects in which `visitor` may add and start."""
    if visitor.may_everything:
        return Project.objects.all()
    return Project.objects.filter(is_editable(visitor))


def is_editable(visitor: Visitor) -> Exists | Value:
    """Of a query of projects: whether `visitor` may add and start in each."""
    if visitor.may_everything:
        return Value(value=True)
    is_enough = visitor.user is not None and MOST_BY_SCOPE[TokenScope(visitor.scope)] >= Role.EDITOR
    roles = (Membership.EDITOR, Membership.OWNER) if is_enough else ()
    return Exists(Membership.objects.filter(project=OuterRef("pk"), user=visitor.user_id, role__in=roles))


def in_visible_projects(rows: QuerySet[Any], visitor: Visitor, project: str = "project") -> QuerySet[Any]:
    """Those of `rows` that `visitor` may see. `project`: the way to their project, such as `graph__project`; empty for
    projects themselves.
    """
    if visitor.may_everything:
        return rows
    return rows.filter(is_visible(visitor, project)) if visitor.user is not None else rows.none()


def is_visible(visitor: Visitor, project: str) -> Q:
    """Of a query of rows with that way to their project: whether `visitor`, a user, may see each.

    It looks at one project by its key, so that a long list costs no more than its rows.
    """
    return Q(_IsSeen(Value(visitor.user_id, UUIDField()), F(f"{project}_id" if project else "pk")))


# `Exists` and `Subquery` say the same, and take longer to be written than most answers take otherwise.
class _IsSeen(Func):
    """Of a user's id and a project's: whether the project is open to all, or has the user as a member."""

    template = (
        f"EXISTS (SELECT 1 FROM {Project._meta.db_table} p LEFT JOIN {Membership._meta.db_table} m "  # noqa: S608
        "ON m.project_id = p.id AND m.user_id = %(expressions)s AND (p.open_to_all OR m.user_id IS NOT NULL))"
    )
    arg_joiner = " WHERE p.id = "
    output_field = BooleanField()


class _MembershipWord(Func):
    """Of the same: the word of the membership, if there is one."""

    template = f"(SELECT m.role FROM {Membership._meta.db_table} m WHERE m.project_id = %(expressions)s)"  # noqa: S608
    arg_joiner = " AND m.user_id = "
    output_field = CharField()


def visible_with_roles(visitor: Visitor) -> QuerySet[Any]:
    """The same, each with the word of the visitor's membership, which `known_role` reads."""
    word = NO_WORD if visitor.user is None else own_role(visitor.user.id, "pk")
    return visible_to(visitor).annotate(membership_word=word)


def known_role(visitor: Visitor, project: Any) -> Role:
    """The role of `visitor` in a project of `visible_with_roles`."""
    if visitor.may_everything:
        return MOST_BY_SCOPE[TokenScope(visitor.scope)]
    return role_of(visitor, project.membership_word, is_open=project.open_to_all)


def role_in(visitor: Visitor, project_id: uuid.UUID) -> Role:
    """The role of `visitor` in a project; NONE if there is no such project."""
    if visitor.may_everything:
        return MOST_BY_SCOPE[TokenScope(visitor.scope)]
    project = visible_with_roles(visitor).filter(id=project_id).first()
    return Role.NONE if project is None else known_role(visitor, project)


def own_role(user_id: uuid.UUID, way: str) -> Func:
    """Of a query of rows, whose column `way` has the project's id: the word of the user's membership."""
    return _MembershipWord(F(way), Value(user_id, UUIDField()))


def role_of(visitor: Visitor, membership: str | None, *, is_open: bool) -> Role:
    """The role that a membership gives, or a project that is open to everybody; at most what the token's scope does."""
    role = ROLE_OF[membership] if membership else Role.VIEWER if is_open else Role.NONE
    return min(role, MOST_BY_SCOPE[TokenScope(visitor.scope)])


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
