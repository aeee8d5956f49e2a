"""The permission matrix of the API: every operation × who calls × scope of the token × accounts off or local."""

import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from pytest_django import Settings

from tests.webapp.access.api_operations import Operation, all_operations, names_of_the_rest
from tests.webapp.access.api_table import API_TABLE, NEED_SCOPE_ADMIN, NO_OPERATION, WITHOUT_ACCOUNTS_NONE
from tests.webapp.access.asking import MAY_ONLY_LOOK, ROLES, VISITORS, bearer, is_allowed, text_of
from tests.webapp.access.belongings import Belongings
from tests.webapp.access.people import Team, client_of
from webapp.accounts.models import TokenScope

OPERATIONS = all_operations()
NO_TOKEN = "Send a valid token: Authorization: Bearer plx_"
SCOPE_TOO_LOW = "This token allows less than this needs: make one with a higher scope."
LEAST_SCOPE = {"viewer": TokenScope.READ, "editor": TokenScope.WRITE, "owner": TokenScope.ADMIN}
SCOPES = [TokenScope.READ, TokenScope.WRITE, TokenScope.ADMIN]
IS_NOT_THERE = "does not exist, or it has been deleted."


@pytest.fixture(autouse=True)
def as_fast_as_possible(settings: Settings) -> None:
    """No limit of requests."""
    settings.API_REQUESTS_PER_MINUTE = 0


@pytest.fixture
def values(rows: Belongings, team: Team) -> dict[str, object]:
    """Placeholder → value."""
    return {**rows.ids(), "username": team.viewer.username, "seq": 1}


def called(client: Client, operation: Operation, values: Mapping[str, object], **headers: str) -> Any:
    """The answer; what it has changed is taken back."""
    name = "comparison.md" if "comparison" in operation.name else "placement.json"
    place = operation.address.filled({**values, "name": name})
    with transaction.atomic():
        answer: Any = client.generic(operation.method, place, headers=headers)
        if answer.streaming and not answer.is_async:
            list(answer.streaming_content)
        transaction.set_rollback(True)
    return answer


def faults_of(client: Client, values: Mapping[str, object], expected: Any, **headers: str) -> str:
    """Where answers are others than `expected(operation)`: a status, a code, and a sentence in the answer."""
    faults = []
    for operation in OPERATIONS:
        answer = called(client, operation, values, **headers)
        status, sentence = expected(operation)
        if answer.status_code != status or sentence not in text_of(answer):
            faults.append(f"{operation.name}: {answer.status_code}, not {status}: {text_of(answer)[:160]}")
    return "\n".join(faults)


def least_scope(operation: Operation) -> TokenScope:
    """That a call needs."""
    needed = API_TABLE[operation.name][0]
    if operation.name in NEED_SCOPE_ADMIN:
        return TokenScope.ADMIN
    if needed == "known":
        return TokenScope.READ if operation.method == "GET" else TokenScope.WRITE
    return LEAST_SCOPE[needed]


def test_every_operation_has_a_row() -> None:
    assert [operation.name for operation in OPERATIONS] == sorted(API_TABLE)
    assert set(names_of_the_rest()) <= {*NO_OPERATION, "api:None"}


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("who", VISITORS)
def test_with_accounts(who: str, team: Team, rows: Belongings, values: dict[str, object]) -> None:
    """The link holder calls with the token of the link, which is none of the API."""
    headers = bearer(getattr(team, who, None))
    if who == "holder":
        headers = {"Authorization": f"Bearer {rows.tokens['run']}"}

    def expected(operation: Operation) -> tuple[int, str]:
        needed, status = API_TABLE[operation.name]
        if is_allowed(who, needed):
            return status, ""
        if who in ("anonymous", "holder"):
            return 401, NO_TOKEN
        return (404, IS_NOT_THERE) if who == "stranger" else (403, MAY_ONLY_LOOK)

    assert faults_of(Client(), values, expected, **headers) == ""


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("who", ["owner", "operator"])
@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_does_what_its_scope_says(
    who: str, scope: TokenScope, team: Team, rows: Belongings, values: dict[str, object]
) -> None:
    def expected(operation: Operation) -> tuple[int, str]:
        if SCOPES.index(scope) >= SCOPES.index(least_scope(operation)):
            return API_TABLE[operation.name][1], ""
        return 403, SCOPE_TOO_LOW

    assert faults_of(Client(), values, expected, **bearer(getattr(team, who), scope)) == ""


def test_a_cookie_opens_nothing_of_the_api(team: Team, rows: Belongings, values: dict[str, object]) -> None:
    assert faults_of(client_of(team.owner), values, lambda _: (401, NO_TOKEN)) == ""


@pytest.mark.usefixtures("read_here")
def test_without_accounts_nobody_needs_a_token(
    settings: Settings, team: Team, rows: Belongings, values: dict[str, object]
) -> None:
    settings.ACCOUNTS = "off"

    def expected(operation: Operation) -> tuple[int, str]:
        return (404, "") if operation.name in WITHOUT_ACCOUNTS_NONE else (API_TABLE[operation.name][1], "")

    assert faults_of(Client(), values, expected) == ""


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_without_accounts_no_other_site_changes_anything(
    headers: dict[str, str], settings: Settings, rows: Belongings, values: dict[str, object]
) -> None:
    settings.ACCOUNTS = "off"
    client = Client()
    for operation in OPERATIONS:
        if operation.method != "GET":
            answer = called(client, operation, values, **headers)
            refused = (403, 404) if operation.name in WITHOUT_ACCOUNTS_NONE else (403,)
            assert answer.status_code in refused, operation.name


def test_a_hidden_row_answers_as_one_that_is_not_there(team: Team, rows: Belongings, values: dict[str, object]) -> None:
    headers = bearer(team.stranger)
    nowhere = {name: uuid.uuid4() if isinstance(value, uuid.UUID) else value for name, value in values.items()}
    others = [operation for operation in OPERATIONS if API_TABLE[operation.name][0] in ROLES]
    client = Client()
    for operation in others:
        hidden, missing = (called(client, operation, ids, **headers) for ids in (values, nowhere))
        assert (hidden.status_code, hidden.content, dict(hidden.headers)) == (
            missing.status_code,
            missing.content,
            dict(missing.headers),
        ), operation.name
    assert len(others) > 60
