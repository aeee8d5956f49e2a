"""The policies that a form offers to begin a run from."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine import api
from webapp.policies import default_policy
from webapp.policies.models import Policy

MOST_OFFERED = 200
"""beside the release's"""


@dataclass(frozen=True, slots=True)
class OfferedPolicies:
    """What a form offers."""

    policies: list[Policy]
    """the release's, then the newest; without plans and cards"""
    default_fault: str
    """why the release's is not among them; empty where it is, or where there is none"""


def offered_policies() -> OfferedPolicies:
    """Those that can be used now."""
    default_fault = default_policy.bring_up_to_date()
    usable = Policy.objects.defer(*Policy.LARGE).exclude(digest="").filter(file_version=api.POLICY_VERSION)
    release_s = usable.filter(source=Policy.DEFAULT)
    return OfferedPolicies([*release_s, *usable.exclude(source=Policy.DEFAULT)[:MOST_OFFERED]], default_fault)


def words_on_a_cut(policies: Sequence[Policy]) -> str:
    """What a form says where it may not offer all: an empty string otherwise."""
    own = [policy for policy in policies if policy.source != Policy.DEFAULT]
    return f"The newest {MOST_OFFERED} are offered." if len(own) >= MOST_OFFERED else ""
