"""The policies that a form offers for a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q, QuerySet

from engine import api
from webapp.accounts.visitor import Visitor
from webapp.accounts_mode import OFF
from webapp.policies import default_policy
from webapp.policies.models import Policy
from webapp.projects.access import is_visible
from webapp.projects.models import Project

MOST_OFFERED = 200
"""beside the release's default"""


@dataclass(frozen=True, slots=True)
class OfferedPolicies:
    """The offered policies."""

    policies: list[Policy]
    """the release's default, then the newest; without plans and cards"""
    default_fault: str
    """why the release's default is missing; empty if it is there, or if there is none"""


def visible_policies(rows: QuerySet[Policy], visitor: Visitor) -> QuerySet[Policy]:
    """Those of `rows` that `visitor` may see: of the projects that they may see, published ones, the installation's."""
    if visitor.may_everything:
        return rows
    return rows.none() if visitor.user is None else rows.filter(is_visible(visitor, "project") | PUBLIC)


PUBLIC = Q(is_published=True) | Q(project=None)


def policies_of(project: Project | None) -> QuerySet[Policy]:
    """The policies that runs of `project` may use: its own, published and the installation's; without accounts, all."""
    rows = Policy.objects.defer(*Policy.LARGE)
    if settings.ACCOUNTS == OFF:
        return rows
    return rows.filter(PUBLIC if project is None else Q(project=project) | PUBLIC)


def offered_policies(project: Project | None) -> OfferedPolicies:
    """The policies that runs of `project` can use now."""
    usable = policies_of(project).exclude(digest="").filter(file_version=api.POLICY_VERSION)
    default_policies = usable.filter(source=Policy.DEFAULT)
    policies = [*default_policies, *usable.exclude(source=Policy.DEFAULT)[:MOST_OFFERED]]
    return OfferedPolicies(policies, default_policy.known_fault())


def words_on_a_cut(policies: Sequence[Policy]) -> str:
    """A sentence if the form may not offer all; else an empty string."""
    newest = [policy for policy in policies if policy.source != Policy.DEFAULT]
    return f"The newest {MOST_OFFERED} are offered." if len(newest) >= MOST_OFFERED else ""
