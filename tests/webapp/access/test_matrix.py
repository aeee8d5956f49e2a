"""The permission matrix: every address × methods × who asks × accounts off or local, as `table.py` has it."""

import uuid
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import urlencode

import pytest
from django.db import transaction
from pytest_django import Settings

from tests.webapp.access.addresses import Address, addresses_of_other_packages, all_addresses
from tests.webapp.access.asking import MAY_ONLY_LOOK, ROLES, VISITORS, is_allowed, text_of
from tests.webapp.access.belongings import Belongings
from tests.webapp.access.people import Team, client_of
from tests.webapp.access.table import ACCOUNTS_ALONE, ADMIN, FIELDS, SENT_ON, TABLE, Entry
from webapp.measuring.models import Calibration
from webapp.policies.models import Policy
from webapp.projects.models import Project

pytestmark = pytest.mark.usefixtures("read_here")
ADDRESSES = all_addresses()
OFF = {"POST policies:train": 400}
"""answers that are others without accounts: nobody is asked for a project first"""
VIEWS_OF_DJANGO = {"accounts:log-in", "accounts:log-out", "accounts:change-password", "accounts:set-password"}
"""which also take PUT as POST, say what they take, and lead on whoever has logged in, or has a link for a password"""
UNSERVED = ("PUT", "PATCH", "DELETE", "OPTIONS")
"""which no page takes"""
SHOWN_BY = {
    **dict.fromkeys(("/comparison", "/table"), "comparison"),
    **dict.fromkeys(("/view.json", "/status.json"), "graph"),
    "/plan.json": "search",
}
"""word in an address below a link → what a link shows that has the address; otherwise a run"""
IS_NOT_THERE = "does not exist, or it has been deleted."
OPERATORS_ONLY = "Only operators may do this."
LOG_IN_FIRST = "Log in first."
NO_LINK = "This link does not open anything: "
FORM = "application/x-www-form-urlencoded"
JSON = {"accept": "application/json"}


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


REFUSED = (401, 403, 404, 405)
"""what a method that an address does not take gets: 405, unless its sender may not even look"""
Expecting: TypeAlias = Callable[[str, Entry, Address], tuple[int, str]]


class Asker:
    """Sends requests for one visitor, and takes back what they have changed."""

    def __init__(self, who: str, team: Team, rows: Belongings, values: Mapping[str, object]) -> None:
        self.who = who
        self._client: Any = client_of(getattr(team, who, None))
        self._session = self._client.cookies.copy()
        self._rows, self._values = rows, values

    def ask(self, address: Address, method: str, **other: object) -> Any:
        """The answer, as a script gets it. `other`: values in the place of those of the rows."""
        self._client.cookies = self._session.copy()  # one who has logged out is back
        values = {**self._values, "name": names_of(address), "token": self._token(address), **other}
        place = address.filled(values) + ("?group=0" if address.pattern.endswith("scope.json") else "")
        fields = FIELDS.get(address.name, {}) if method == "POST" else {}
        with transaction.atomic():
            answer: Any = self._client.generic(method, place, urlencode(fields), FORM, headers=JSON)
            if answer.streaming and not answer.is_async:
                list(answer.streaming_content)  # which closes its file
            transaction.set_rollback(True)
        return answer

    def _token(self, address: Address) -> str:
        if self.who == "anonymous" or not address.pattern.startswith("shared/"):
            return "no-such-token"
        return self._rows.tokens[next((of for word, of in SHOWN_BY.items() if word in address.pattern), "run")]


def expected(who: str, entry: Entry, address: Address) -> tuple[int, str]:
    """The status of the answer, and a sentence that has to be in it, with accounts."""
    assert entry is not None
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


def test_every_address_has_a_row_and_every_row_an_address() -> None:
    names = [address.name for address in ADDRESSES]
    assert sorted(names) == sorted(TABLE)


def faults_of(asker: Asker, expected_of: Expecting = expected, others: Mapping[str, int] = MappingProxyType({})) -> str:
    """Where the answers are others than the table's; a method that an address does not take gets no answer."""
    faults: list[str] = []
    for address in ADDRESSES:
        for method, entry in zip(("GET", "POST"), TABLE[address.name], strict=True):
            answer = asker.ask(address, method)
            if entry is None:
                status, ok = 405, answer.status_code in REFUSED
            else:
                status, sentence = expected_of(asker.who, entry, address)
                status = others.get(f"{method} {address.name}", status)
                ok = answer.status_code == status and sentence in text_of(answer)
            if not ok:
                faults.append(f"{method} {address.name}: {answer.status_code}, not {status}: {text_of(answer)[:160]}")
    return "\n".join(faults)


@pytest.mark.parametrize("who", VISITORS)
def test_with_accounts(who: str, team: Team, rows: Belongings, values: dict[str, object]) -> None:
    assert faults_of(Asker(who, team, rows, values)) == ""


@pytest.mark.parametrize("who", ["anonymous", "stranger"])
def test_without_accounts_everybody_is_the_person(
    who: str, settings: Settings, team: Team, rows: Belongings, values: dict[str, object]
) -> None:
    asker = Asker(who, team, rows, values)
    settings.ACCOUNTS = "off"

    def answer_to_the_person(_who: str, entry: Entry, address: Address) -> tuple[int, str]:
        assert entry is not None
        if address.name.startswith(ACCOUNTS_ALONE):
            return 404, ""
        if entry[0] == "holder" and who == "anonymous":
            return 404, NO_LINK
        return entry[1], ""

    assert faults_of(asker, answer_to_the_person, OFF) == ""


@pytest.mark.parametrize("who", ["anonymous", "stranger", "owner"])
@pytest.mark.parametrize("method", UNSERVED)
def test_other_methods_get_no_answer(
    who: str, method: str, team: Team, rows: Belongings, values: dict[str, object]
) -> None:
    asker = Asker(who, team, rows, values)
    answered = {address.name for address in ADDRESSES if asker.ask(address, method).status_code not in REFUSED}
    assert answered <= VIEWS_OF_DJANGO


def test_a_hidden_row_answers_as_one_that_is_not_there(team: Team, rows: Belongings, values: dict[str, object]) -> None:
    """Status, headers and body: nothing tells a stranger that there is such a row."""
    asker = Asker("stranger", team, rows, values)
    nowhere = {name: uuid.uuid4() for name, value in values.items() if isinstance(value, uuid.UUID)}
    count = 0
    for address in ADDRESSES:
        for method, entry in zip(("GET", "POST"), TABLE[address.name], strict=True):
            if entry is not None and entry[0] in ROLES:
                hidden, missing = asker.ask(address, method), asker.ask(address, method, **nowhere)
                assert answer_of(hidden) == answer_of(missing), f"{method} {address.name}"
                count += 1
    assert count > 100


def answer_of(answer: Any) -> tuple[int, str, dict[str, str]]:
    """All that its reader sees."""
    return answer.status_code, text_of(answer), dict(answer.headers)


def test_nobody_known_is_led_to_the_log_in_and_back(team: Team, rows: Belongings) -> None:
    address = f"/runs/{rows.run.id}/?episode=3"
    answer = client_of(None).get(address)
    assert (answer.status_code, answer["Location"]) == (
        302,
        "/accounts/log-in/?" + urlencode({"next": address}, safe="/"),
    )


def test_whoever_has_an_account_may_look_at_an_open_project(
    team: Team, rows: Belongings, values: dict[str, object]
) -> None:
    Project.objects.filter(id=team.project.id).update(open_to_all=True)
    asker = Asker("stranger", team, rows, values)
    assert faults_of(asker, lambda _, entry, address: expected("viewer", entry, address)) == ""


@pytest.mark.parametrize("which", ["published", "the installation's"])
def test_a_policy_that_everybody_may_use_is_seen_and_not_changed(
    which: str, team: Team, rows: Belongings, values: dict[str, object]
) -> None:
    change: dict[str, Any] = {"is_published": True} if which == "published" else {"project": None}
    Policy.objects.filter(id=rows.policy.id).update(**change)
    asker = Asker("stranger", team, rows, values)
    of_policies = [address for address in ADDRESSES if "policy_id" in address.placeholders]
    for address in of_policies:
        for method, entry in zip(("GET", "POST"), TABLE[address.name], strict=True):
            if entry is not None:
                status, sentence = expected("viewer", entry, address)
                answer = asker.ask(address, method)
                assert (answer.status_code, sentence in text_of(answer)) == (status, True), f"{method} {address.name}"
    assert len(of_policies) > 5


def test_owners_of_projects_change_no_policy_of_the_installation(
    team: Team, rows: Belongings, values: dict[str, object]
) -> None:
    Policy.objects.filter(id=rows.policy.id).update(project=None)
    [rename] = [address for address in ADDRESSES if address.name == "policies:rename"]
    assert Asker("owner", team, rows, values).ask(rename, "POST").status_code == 403
    assert Asker("operator", team, rows, values).ask(rename, "POST").status_code == 400


@pytest.mark.parametrize("who", VISITORS)
def test_djangos_admin_is_for_operators(who: str, team: Team, settings: Settings) -> None:
    pages = ["/admin/", "/admin/login/", "/admin/logout/", "/admin/accounts/user/", "/admin/accounts/auditentry/"]
    pages += ["/admin/accounts/quota/", f"/admin/accounts/user/{team.viewer.id}/change/", "/admin/nothing/"]
    assert {page.split("/")[1] for page in pages} == {
        address.pattern.split("/")[0] for address in addresses_of_other_packages()
    }
    client = client_of(getattr(team, who, None))
    for page in pages:
        status = client.get(page, headers=JSON).status_code
        if who == ADMIN:
            assert status in (200, 302, 404, 405), page
        else:
            assert status == (401 if who in ("anonymous", "holder") else 403), page
    settings.ACCOUNTS = "off"
    assert {client.get(page).status_code for page in pages} == {404}
