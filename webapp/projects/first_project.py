"""The project of uploads that name none."""

from webapp.accounts.visitor import acting
from webapp.projects.models import Membership, Project

NAME = "My graphs"


def project_for_uploads() -> Project:
    """The newest project of that name, with accounts of those that the visitor owns; else a new one, not stored yet."""
    user, found = acting().user, Project.objects.filter(name=NAME)
    if user is not None:
        found = found.filter(memberships__in=Membership.objects.filter(user=user, role=Membership.OWNER))
    return found.first() or Project(name=NAME)
