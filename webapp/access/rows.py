"""The projects of the rows that addresses name."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import F, Model, OuterRef, QuerySet, Subquery, UUIDField, Value
from django.db.models.functions import Coalesce

from webapp.accounts.models import TokenScope
from webapp.accounts.visitor import Visitor
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.hooks.models import Delivery, Webhook
from webapp.measuring.models import Calibration, Profile, StepMeasurement
from webapp.placements.models import Placement
from webapp.plans.models import PlanSearch
from webapp.policies.models import Policy
from webapp.prepared_query import PreparedQuery
from webapp.projects.access import MOST_BY_SCOPE, Role, own_role, role_of
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.sharing.models import ShareLink
from webapp.uploads.models import PartialUpload


@dataclass(frozen=True, slots=True)
class NamedKind:
    """A kind of row that addresses name."""

    model: type[Model]
    what: str
    """in words, as its 404 says it"""
    projects: tuple[str, ...] = ()
    """the ways from the row to its project, of which one leads there; none: it belongs to the installation"""
    shared: str = ""
    """the column that lets everybody see it who may come in"""


NO_PROJECT = Value(None, output_field=UUIDField())
KINDS: Mapping[str, NamedKind] = {
    "project_id": NamedKind(Project, "project", ("id",)),
    "graph_id": NamedKind(Graph, "graph", ("project_id",)),
    "run_id": NamedKind(Run, "run", ("project_id",)),
    "other_id": NamedKind(Run, "run", ("project_id",)),
    "comparison_id": NamedKind(Comparison, "comparison", ("graph__project_id",)),
    "search_id": NamedKind(PlanSearch, "search for plans", ("graph__project_id",)),
    "policy_id": NamedKind(Policy, "policy", ("project_id",), "is_published"),
    "placement_id": NamedKind(Placement, "placement", ("graph__project_id",)),
    "measurement_id": NamedKind(StepMeasurement, "measurement", ("graph__project_id",)),
    "profile_id": NamedKind(Profile, "measurement", ("graph__project_id",)),
    "upload_id": NamedKind(PartialUpload, "upload", ("project_id",)),
    "calibration_id": NamedKind(Calibration, "calibration"),
    "hook_id": NamedKind(Webhook, "webhook", ("project_id",)),
    "delivery_id": NamedKind(Delivery, "delivery", ("webhook__project_id",)),
    "link_id": NamedKind(
        ShareLink,
        "link",
        ("run__project_id", "comparison__graph__project_id", "graph__project_id", "search__graph__project_id"),
    ),
}
"""name in an address → what it names"""


@dataclass(frozen=True, slots=True)
class Named:
    """A row that an address names."""

    kind: str
    """`run`, as the log says it"""
    row_id: uuid.UUID
    project_id: uuid.UUID | None
    """None: it belongs to the installation"""
    is_shared: bool
    """whether everybody may see it who may come in"""
    role: Role
    """of the visitor, for this row: NONE if it is not there for them"""


def named_row(visitor: Visitor, name: str, row_id: uuid.UUID) -> Named | None:
    """The row that `name` names in an address, with what `visitor` may do, in one query; None if it is not there."""
    if visitor.user_id is None or visitor.may_everything:
        found = _COLUMNS[name].first(row_id=row_id)
    else:
        found = _COLUMNS_WITH_RIGHTS[name].first(row_id=row_id, user_id=visitor.user_id)
    if found is None:
        return None
    is_shared, project_id, *rights = found
    is_shared = bool(is_shared) or project_id is None
    role = _role(visitor, project_id, rights)
    return Named(name.removesuffix("_id"), row_id, project_id, is_shared, max(role, Role.VIEWER) if is_shared else role)


def _columns(kind: NamedKind, row_id: uuid.UUID, *rights: Any) -> QuerySet[Any, tuple[Any, ...]]:
    """Of the row: whether everybody sees it, its project, and `rights` there."""
    shared = F(kind.shared) if kind.shared else Value(value=False)
    rows: QuerySet[Any] = kind.model._default_manager.filter(pk=row_id)
    found: QuerySet[Any, tuple[Any, ...]] = rows.annotate(its_project=_project_of(kind)).values_list(
        shared, F("its_project"), *rights
    )
    return found


def _columns_with_rights(kind: NamedKind, row_id: uuid.UUID, user_id: uuid.UUID) -> QuerySet[Any, tuple[Any, ...]]:
    """The same, with the word of the user's membership in the project, and whether that is open to all."""
    is_open = Project.objects.filter(id=OuterRef("its_project")).order_by().values("open_to_all")[:1]
    return _columns(kind, row_id, own_role(user_id, "its_project"), Subquery(is_open))


def _project_of(kind: NamedKind) -> Any:
    """The id of the row's project, in a query of rows of that kind."""
    if not kind.projects:
        return NO_PROJECT
    return Coalesce(*kind.projects) if len(kind.projects) > 1 else F(kind.projects[0])


def _role(visitor: Visitor, project_id: uuid.UUID | None, rights: list[Any]) -> Role:
    """What belongs to the installation, operators alone may change."""
    if visitor.may_everything:
        return MOST_BY_SCOPE[TokenScope(visitor.scope)]
    if project_id is None or not rights:
        return Role.NONE
    membership, is_open = rights
    return role_of(visitor, membership, is_open=bool(is_open))


_COLUMNS = {name: PreparedQuery(partial(_columns, kind), row_id=uuid.UUID) for name, kind in KINDS.items()}
_COLUMNS_WITH_RIGHTS = {
    name: PreparedQuery(partial(_columns_with_rights, kind), row_id=uuid.UUID, user_id=uuid.UUID)
    for name, kind in KINDS.items()
}
