"""Projects that belong to nobody: those of the time before an installation had accounts."""

from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.db import transaction
from django.dispatch import Signal, receiver

from webapp.accounts import audit
from webapp.accounts.models import User
from webapp.accounts.visitor import of_user
from webapp.accounts_mode import OIDC
from webapp.projects.models import Membership, Project

adopted = Signal()
"""sent with `user` in the transaction in which they become the owner of what belonged to nobody"""


def adopt_projects(user: User) -> int:
    """Make `user` the owner of each project that has no member; returns how many. Twice does nothing more."""
    with transaction.atomic():
        User.objects.select_for_update().filter(id=user.id).first()  # a second request waits for the first one
        orphans = Project.all_rows.filter(memberships=None)
        owners = [Membership(project=project, user=user, role=Membership.OWNER) for project in orphans]
        Membership.objects.bulk_create(owners, ignore_conflicts=True)
        adopted.send(User, user=user)
        if owners:
            audit.note("adopted projects", visitor=of_user(user), words=f"projects without a member: {len(owners)}")
    return len(owners)


@receiver(user_logged_in)
def _adopt_at_log_in(user: User, **_: Any) -> None:
    """Where a provider lets people in there is no set-up: the first operator who comes in owns what is there."""
    if settings.ACCOUNTS == OIDC and user.is_operator:
        adopt_projects(user)
