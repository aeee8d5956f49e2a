"""What tests of several kinds ask: the addresses of a visitor, their answers, and what is stored."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps

from tests.webapp.access.addresses import all_addresses
from tests.webapp.access.api_operations import all_operations
from tests.webapp.access.belongings import Belongings
from tests.webapp.access.table import TABLE
from webapp.accounts.models import ApiToken, TokenScope
from webapp.measuring.models import Calibration
from webapp.policies.models import Policy

VISITORS = ("anonymous", "holder", "stranger", "viewer", "editor", "owner", "operator")
ROLES = ("viewer", "editor", "owner")
"""each includes the ones before"""
MAY_ONLY_LOOK = "You may look at this project, but not do this in it: ask one of its owners."
OTHERS = "Wombat"
"""in each name of the other team's rows and people"""
OPERATORS_OWN = ("accounts:users", "accounts:user", "accounts:limits", "accounts:log", "status:page")


def is_allowed(who: str, needed: str) -> bool:
    """Whether a visitor may what `needed` may."""
    if needed == "anyone" or who == "operator":
        return True
    if needed == "holder":
        return who != "anonymous"
    if needed == "known":
        return who not in ("anonymous", "holder")
    return who in ROLES and needed in ROLES and ROLES.index(who) >= ROLES.index(needed)


def text_of(answer: Any) -> str:
    """What an answer says, if it is not too large to look for a sentence in it."""
    return "" if answer.streaming else answer.content.decode("utf-8", "replace")


def bearer(user: Any, scope: str = TokenScope.ADMIN) -> dict[str, str]:
    """The header of a new token of `user`; none of nobody."""
    return {} if user is None else {"Authorization": f"Bearer {ApiToken.make(user, 'a test', scope)[1]}"}


def stored() -> dict[str, int]:
    """The number of rows of each kind, without the log and what a log-in keeps."""
    left_out = ("sessions", "axes", "usersessions", "contenttypes")
    models = [model for model in apps.get_models() if model._meta.app_label not in left_out]
    return {model._meta.label: model._base_manager.count() for model in models if model.__name__ != "AuditEntry"}


def values_of(rows: Belongings) -> dict[str, object]:
    """Placeholder → value."""
    files = {"of": "groups", "number": 0, "seq": 1, "entry": "js/pages/run-page", "names": "base", "uidb64": "AA"}
    return {**rows.ids(), **files, "token": "none", "calibration_id": Calibration.objects.create().id}


def pages_of(rows: Belongings) -> Iterator[str]:
    """Every address that a member of a team may read, and the lists with a search for the others."""
    values = values_of(rows)
    for address in all_addresses():
        entry = TABLE[address.name][0]
        if entry is None or address.name in OPERATORS_OWN or not {*address.placeholders} <= {*values, "name"}:
            continue
        names = {"exports:run": "episodes.csv", "exports:placement": "groups.csv"}
        place = address.filled({**values, "name": names.get(address.name, "placement.json")})
        yield place + ("?group=0" if place.endswith("scope.json") else "")
    for operation in all_operations():
        if operation.method == "GET":
            name = "comparison.md" if "comparison" in operation.name else "placement.json"
            yield operation.address.filled({**values, "name": name})
    for policy in Policy.objects.filter(project=None):
        yield f"/policies/{policy.id}/"
        yield f"/policies/{policy.id}/?search={OTHERS}"
    for place in ("/projects/", "/policies/", f"/projects/{rows.project.id}/", f"/graphs/{rows.graph.id}/"):
        yield f"{place}?search={OTHERS}&graphs-search={OTHERS}&sort=largest"
    yield f"/policies/train/?project={rows.project.id}"
    yield f"/policies/train/?project={rows.project.id}&like={rows.policy.id}"


def content_of(answer: Any) -> bytes:
    """Of a file too; of a stream nothing."""
    if not answer.streaming:
        return bytes(answer.content)
    return b"" if answer.is_async else b"".join(answer.streaming_content)
