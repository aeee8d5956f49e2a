"""The projects of the rows that addresses name."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet, Value

from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.measuring.models import Calibration, Profile, StepMeasurement
from webapp.placements.models import Placement
from webapp.plans.models import PlanSearch
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.sharing.models import ShareLink
from webapp.uploads.models import PartialUpload


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of row that addresses name."""

    model: type[Model]
    what: str
    """in words, as its 404 says it"""
    projects: tuple[str, ...] = ()
    """the ways from the row to its project, of which one leads there; none: it belongs to the installation"""
    shared: str = ""
    """the column that lets everybody see it who may come in"""


KINDS: Mapping[str, Kind] = {
    "project_id": Kind(Project, "project", ("id",)),
    "graph_id": Kind(Graph, "graph", ("project_id",)),
    "run_id": Kind(Run, "run", ("project_id",)),
    "other_id": Kind(Run, "run", ("project_id",)),
    "comparison_id": Kind(Comparison, "comparison", ("graph__project_id",)),
    "search_id": Kind(PlanSearch, "search for plans", ("graph__project_id",)),
    "policy_id": Kind(Policy, "policy", ("project_id",), "is_published"),
    "placement_id": Kind(Placement, "placement", ("graph__project_id",)),
    "measurement_id": Kind(StepMeasurement, "measurement", ("graph__project_id",)),
    "profile_id": Kind(Profile, "measurement", ("graph__project_id",)),
    "upload_id": Kind(PartialUpload, "upload", ("project_id",)),
    "calibration_id": Kind(Calibration, "calibration"),
    "link_id": Kind(
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


def named_row(name: str, row_id: uuid.UUID) -> Named | None:
    """The row that `name` names in an address; None if it is not there."""
    kind = KINDS[name]
    rows: QuerySet[Any] = kind.model._default_manager.filter(pk=row_id)
    found = rows.values_list(*kind.projects, kind.shared or Value(False)).first()
    if found is None:
        return None
    *projects, is_shared = found
    return Named(name.removesuffix("_id"), row_id, next(filter(None, projects), None), is_shared)
