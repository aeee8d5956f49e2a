"""Changes the members of a project: somebody always owns it."""

from django.db import transaction

from engine import api
from webapp.accounts.models import User
from webapp.projects.models import Membership, Project

LAST_OWNER = "a project needs an owner"


def set_role(project: Project, username: str, role: str) -> Membership:
    """Make the user of that name a member with `role`, or change their role. Raises SettingsError."""
    user = User.objects.filter(username__iexact=username.strip(), is_active=True).first()
    if user is None:
        raise api.SettingsError(
            f"no active user is called {api.shortened(repr(username), 60)}",
            allowed="the name of a user",
            field="username",
        )
    with transaction.atomic():
        _lock(project)
        if role != Membership.OWNER:
            _require_other_owner(project, user)
        row, _ = Membership.objects.update_or_create(project=project, user=user, defaults={"role": role})
    return row


def remove_member(project: Project, user: User) -> bool:
    """Remove the user; False if they were no member. Raises SettingsError for the last owner."""
    with transaction.atomic():
        _lock(project)
        _require_other_owner(project, user)
        return bool(Membership.objects.filter(project=project, user=user).delete()[0])


def _lock(project: Project) -> None:
    Project.objects.select_for_update().filter(id=project.id).first()


def _require_other_owner(project: Project, user: User) -> None:
    owners = Membership.objects.filter(project=project, role=Membership.OWNER, user__is_active=True)
    if owners.filter(user=user).exists() and not owners.exclude(user=user).exists():
        raise api.SettingsError(LAST_OWNER, where=user.username, allowed="another owner first", field="username")
