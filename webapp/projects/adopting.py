"""Gives the projects of an installation that had no accounts an owner."""

from webapp.accounts.models import User
from webapp.projects.models import Membership, Project


def adopt_projects(user: User) -> int:
    """Make `user` the owner of every project that has no member; returns how many those are."""
    alone = Project.all_rows.filter(memberships=None)
    rows = [Membership(project=project, user=user, role=Membership.OWNER) for project in alone]
    Membership.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)
