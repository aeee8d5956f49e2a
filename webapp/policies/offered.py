"""The policies that a form offers for a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine import api
from webapp.policies import default_policy
from webapp.policies.models import Policy

MOST_OFFERED = 200
"""beside the release's default"""


@dataclass(frozen=True, slots=True)
class OfferedPolicies:
    """The offered policies."""

    policies: list[Policy]
    """the release's default, then the newest; without plans and cards"""
    default_fault: str
    """why the release's default is missing; empty if it is there, or if there is none"""


def offered_policies() -> OfferedPolicies:
    """The policies that can be used now."""
    usable = Policy.objects.defer(*Policy.LARGE).exclude(digest="").filter(file_version=api.POLICY_VERSION)
    default_policies = usable.filter(source=Policy.DEFAULT)
    policies = [*default_policies, *usable.exclude(source=Policy.DEFAULT)[:MOST_OFFERED]]
    return OfferedPolicies(policies, default_policy.known_fault())


def words_on_a_cut(policies: Sequence[Policy]) -> str:
    """A sentence if the form may not offer all; else an empty string."""
    newest = [policy for policy in policies if policy.source != Policy.DEFAULT]
    return f"The newest {MOST_OFFERED} are offered." if len(newest) >= MOST_OFFERED else ""
