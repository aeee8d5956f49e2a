"""Policies of the time before an installation had accounts: their cards name graphs that not everybody may see."""

from typing import Any

from django.dispatch import receiver

from webapp.accounts.models import User
from webapp.graphs.models import Graph
from webapp.jobs.job import CHANGED
from webapp.policies.models import Policy
from webapp.projects.adopting import adopted
from webapp.projects.first_project import NAME
from webapp.projects.models import Membership, Project


@receiver(adopted)
def adopt_policies(user: User, **_: Any) -> None:
    """Give each policy that belongs to no project to one of `user`'s, who may publish it; not those of the release."""
    orphans = Policy.objects.filter(project=None).exclude(source__in=(Policy.DEFAULT, Policy.FORMER))
    for policy in orphans:
        place = _place_of(policy) or _project_for_policies(user)
        Policy.objects.filter(id=policy.id).update(project=place, **CHANGED)


def _place_of(policy: Policy) -> Project | None:
    """The project of a graph that it was trained on, or else of the newest run that uses it; None without either."""
    plan = policy.training_plan
    planned = () if plan is None else (*plan.graphs, *plan.held_out)
    graph = Graph.objects.filter(id__in=[each.id for each in planned]).select_related("project").first()
    row = graph or policy.runs.select_related("project").first()
    return None if row is None else row.project


def _project_for_policies(user: User) -> Project:
    """The user's project for what has none; a new one if there is none."""
    own = Project.objects.filter(name=NAME, memberships__user=user, memberships__role=Membership.OWNER).first()
    if own is None:
        own = Project.objects.create(name=NAME)
        Membership.objects.create(project=own, user=user, role=Membership.OWNER)
    return own
