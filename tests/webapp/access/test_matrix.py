"""The permission matrix: every address × methods × who asks × accounts off or local, as `table.py` has it."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction

from tests.webapp.access.addresses import Address, all_addresses
from tests.webapp.access.belongings import Belongings
from tests.webapp.access.people import Team, client_of
from tests.webapp.access.table import FIELDS, SENT_ON, TABLE, Entry
from webapp.measuring.models import Calibration

ADDRESSES = all_addresses()
VISITORS = ("anonymous", "holder", "stranger", "viewer", "editor", "owner", "operator")
ROLES = ("viewer", "editor", "owner")
"""each includes the ones before"""
UNSERVED = ("PUT", "PATCH", "DELETE", "OPTIONS")
"""which no page takes"""
LOG_IN = "/accounts/log-in/?next="
IS_NOT_THERE = "does not exist, or it has been deleted."
MAY_ONLY_LOOK = "You may look at this project, but not do this in it: ask one of its owners."
OPERATORS_ONLY = "Only operators may do this."
LOG_IN_FIRST = "Log in first."
NO_LINK = "This link does not open anything: it is incomplete, or it has been revoked, or what it showed was deleted."
FORM = "application/x-www-form-urlencoded"
JSON = {"accept": "application/json"}


@pytest.fixture(autouse=True)
def drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures without the process that draws them."""
    monkeypatch.setattr("webapp.pages.comparisons.views.api.comparison_figure", lambda *_: b"figure")


@pytest.fixture(autouse=True)
def healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes without their write to the database, on a connection of its own."""
    for module in ("webapp.pages.health", "webapp.pages.status.warnings"):
        monkeypatch.setattr(f"{module}.part_faults", lambda: {"database": "", "broker": "", "disk": ""})


@pytest.fixture(autouse=True)
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams begin in the thread that has the test's transaction."""

    async def read(look: Callable[..., Any], *arguments: Any) -> Any:
        return await sync_to_async(look, thread_sensitive=True)(*arguments)

    for module in ("webapp.pages.events", "webapp.pages.sharing.views"):
        monkeypatch.setattr(f"{module}.read", read)


@pytest.fixture
def values(rows: Belongings, team: Team) -> dict[str, object]:
    """Placeholder of an address → a value."""
    return {
        **rows.ids(),
        "calibration_id": Calibration.objects.create(status=Calibration.DONE).id,
        "user_id": team.viewer.id,
        "token_id": uuid.uuid4(),
        "session_number": 999_999,
        "uidb64": "AA",
        "seq": 1,
        "of": "groups",
        "number": 0,
        "entry": "js/pages/run-page",
        "names": "base",
    }


def names_of(address: Address) -> str:
    """The name of a file, where an address takes one."""
    if address.pattern.endswith("exports/run/<str:name>"):
        return "episodes.csv"
    return "groups.csv" if address.pattern.endswith("exports/<str:name>") else "placement.json"


class Asker:
    """Sends requests for one visitor, and takes back what they have changed."""

    def __init__(self, who: str, team: Team, rows: Belongings, values: Mapping[str, object]) -> None:
        self.who = who
        self._client = client_of(getattr(team, who, None))
        self._session = self._client.cookies.copy()
        self._rows, self._values = rows, values

    def ask(self, address: Address, method: str, **other: object) -> Any:
        """The answer, as a script gets it. `other`: values in the place of those of the rows."""
        self._client.cookies = self._session.copy()  # one who has logged out is back
        values = {**self._values, "name": names_of(address), "token": self._token(address), **other}
        place = address.filled(values) + ("?group=0" if address.pattern.endswith("scope.json") else "")
        fields = FIELDS.get(address.name, {}) if method == "POST" else {}
        with transaction.atomic():
            answer = self._client.generic(method, place, urlencode(fields), FORM, headers=JSON)
            if answer.streaming and not answer.is_async:
                list(answer.streaming_content)  # which closes its file
            transaction.set_rollback(True)
        return answer

    def _token(self, address: Address) -> str:
        if self.who == "anonymous" or not address.pattern.startswith("shared/"):
            return "no-such-token"
        is_of_comparison = any(word in address.pattern for word in ("comparison", "table"))
        return self._rows.comparison_token if is_of_comparison else self._rows.run_token


def is_allowed(who: str, needed: str) -> bool:
    """Whether a visitor may what `needed` may."""
    if needed == "anyone" or who == "operator":
        return True
    if needed == "holder":
        return who != "anonymous"
    if needed == "known":
        return who not in ("anonymous", "holder")
    return who in ROLES and needed in ROLES and ROLES.index(who) >= ROLES.index(needed)


def expected(who: str, entry: Entry, address: Address, method: str) -> tuple[int, str]:
    """The status of the answer, and a sentence that has to be in it, with accounts."""
    is_row = bool({*address.placeholders} & {*ROW_IDS})
    if entry is None:
        return _unserved(who, address, method, is_row)
    needed, status = entry
    if address.name in SENT_ON and who not in ("anonymous", "holder"):
        return SENT_ON[address.name], ""
    if is_allowed(who, needed):
        return status, ""
    if needed == "holder":
        return 404, NO_LINK
    if who in ("anonymous", "holder"):
        return 401, LOG_IN_FIRST
    if needed == "operator":
        return 403, OPERATORS_ONLY
    return (404, IS_NOT_THERE) if who == "stranger" else (403, MAY_ONLY_LOOK)


ROW_IDS = (
    *("project_id", "graph_id", "run_id", "comparison_id", "search_id", "policy_id", "placement_id"),
    *("measurement_id", "profile_id", "link_id"),
)


def _unserved(who: str, address: Address, method: str, is_row: bool) -> tuple[int, str]:
    """A method that the address does not take: 405 to whoever gets so far, and never an answer."""
    return 405, ""


def test_every_address_has_a_row_and_every_row_an_address() -> None:
    names = [address.name for address in ADDRESSES]
    assert sorted(names) == sorted(TABLE)


def faults_of(asker: Asker) -> str:
    """Where the answers are others than the table's."""
    faults: list[str] = []
    for address in ADDRESSES:
        for method, entry in zip(("GET", "POST"), TABLE[address.name], strict=True):
            answer = asker.ask(address, method)
            status, sentence = expected(asker.who, entry, address, method)
            if entry is None:
                ok = answer.status_code in (401, 403, 404, 405)
            else:
                ok = answer.status_code == status and sentence in text_of(answer)
            if not ok:
                faults.append(f"{method} {address.name}: {answer.status_code}, not {status}: {text_of(answer)[:160]}")
    return "\n".join(faults)


def text_of(answer: Any) -> str:
    """What an answer says, if it is not too large to look for a sentence in it."""
    return "" if answer.streaming else answer.content.decode("utf-8", "replace")


@pytest.mark.parametrize("who", VISITORS)
def test_with_accounts(who: str, team: Team, rows: Belongings, values: dict[str, object]) -> None:
    assert faults_of(Asker(who, team, rows, values)) == ""
