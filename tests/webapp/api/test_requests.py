"""What holds for all operations: pages of lists, the rate, other sites, bodies, errors in one format."""

import http.client
import json
import re
from typing import Any, cast

import pytest
from django.test import Client
from django.urls import URLPattern
from django.utils import timezone
from pytest_django import Settings

from tests.engine.policies.small_policies import small_card, small_policy
from tests.webapp.processes import Surroundings
from webapp.api import rates
from webapp.api.server import server
from webapp.graphs.models import Graph
from webapp.policies import lifecycle
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run

JSON: dict[str, Any] = {"content_type": "application/json"}


def error_of(answer: Any) -> dict[str, Any]:
    """The error; nothing else is in the body."""
    [(name, error)] = answer.json().items()
    assert name == "error" and set(error) == {"code", "message", "field"} and error["message"]
    found: dict[str, Any] = error
    return found


def test_pages_of_a_list_have_every_row_once_though_rows_come_and_go(client: Client) -> None:
    now = timezone.now()
    for number in range(7):
        project = Project.objects.create(name=str(number))
        Project.objects.filter(id=project.id).update(created_at=now)  # the id decides between them
    seen, after = [], ""
    while True:
        page = client.get(f"/api/v1/projects?limit=3&after={after}").json()
        seen += [row["id"] for row in page["items"]]
        Project.objects.create(name="newer")
        after = page["next"]
        if after is None:
            break
    rows = Project.objects.exclude(name="newer").order_by("-id").values_list("id", flat=True)
    assert seen == [str(key) for key in rows]


@pytest.mark.parametrize("after", ["x", "é", "A" * 300, "bm90IGEgdGltZSBhdCBhbGw=", "MjAyNi0wMS0wMSBub3Q="])
def test_a_made_up_cursor_is_refused(after: str, client: Client) -> None:
    error = error_of(client.get("/api/v1/projects", {"after": after}))
    assert error["field"] == "after"


@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", ""])
def test_a_page_has_a_size(limit: str, client: Client) -> None:
    answer = client.get("/api/v1/projects", {"limit": limit})
    assert answer.status_code == 422 and error_of(answer)["field"] == "limit"


def test_so_many_requests_a_minute_then_429_with_the_time_to_wait(client: Client, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 3
    rates.RateAMinute.cache.clear()
    answers = [client.get("/api/v1/version") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert error_of(answers[3])["code"] == "rate_limited"
    assert 1 <= int(answers[3].headers["Retry-After"]) <= 60
    other = Client(REMOTE_ADDR="192.0.2.7", headers={"host": "localhost"})
    assert other.get("/api/v1/version").status_code == 200
    settings.API_REQUESTS_PER_MINUTE = 0
    assert client.get("/api/v1/version").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}],
)
def test_a_page_of_another_site_changes_nothing(headers: dict[str, str], client: Client) -> None:
    answer = client.post("/api/v1/projects", {"name": "x"}, headers=headers, **JSON)
    assert answer.status_code == 403 and error_of(answer)["code"] == "forbidden"
    assert Project.objects.count() == 0


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff", b'{"name": NaN}', b'{"name": "\\ud800"}', b'{"name": "\\u0000"}', b"[" * 100_000, b"1" * 5000],
)
def test_what_is_no_strict_json_is_refused(body: bytes, client: Client) -> None:
    answer = client.post("/api/v1/projects", body, **JSON)
    assert answer.status_code in (400, 422)
    error_of(answer)
    assert Project.objects.count() == 0


def test_a_field_of_another_name_or_type_is_refused(client: Client, real_graph: Graph) -> None:
    address = f"/api/v1/graphs/{real_graph.id}/runs"
    for body, field in (
        ({"cluster": "2xK80", "status": "done"}, "status"),
        ({"cluster": "2xK80", "seed": "1"}, "seed"),
        ({"cluster": "2xK80", "evaluations": True}, "evaluations"),
        ({"cluster": ["2xK80"]}, "cluster"),
        ({}, "cluster"),
    ):
        answer = client.post(address, body, **JSON)
        assert answer.status_code == 422 and error_of(answer)["field"] == field
    assert Run.objects.count() == 0


def test_the_sentence_of_the_form_is_at_its_field(client: Client, real_graph: Graph) -> None:
    answer = client.post(f"/api/v1/graphs/{real_graph.id}/runs", {"cluster": "2xK80", "evaluations": 0}, **JSON)
    assert answer.status_code == 400
    assert error_of(answer) == {
        "code": "bad_request",
        "message": "evaluations: 0 evaluations; allowed: 1 to 100000000",
        "field": "evaluations",
    }


def test_what_is_not_given_is_as_the_form_first_shows_it(client: Client, real_graph: Graph) -> None:
    client.post(f"/api/v1/graphs/{real_graph.id}/runs", {"cluster": "2xK80"}, **JSON)
    run = Run.objects.get()
    assert (run.method, run.evaluations, run.seed, run.seconds, run.prefer) == ("auto", 2000, 0, None, "fastest")


def test_the_policy_of_the_release_is_for_methods_that_take_one(client: Client, real_graph: Graph) -> None:
    card = small_card().to_json()
    policy = lifecycle.keep_file("the release's", Policy.DEFAULT, small_policy().to_bytes(), card)
    address = f"/api/v1/graphs/{real_graph.id}/runs"
    used = []
    for asked in ({}, {"method": "heft"}, {"method": "placeto"}, {"method": "placeto", "policy": ""}):
        answer = client.post(address, {"cluster": "2xK80", **asked}, **JSON)
        assert answer.status_code == 202, answer.content
        used.append((answer.json()["policy"] or {}).get("id"))
    assert used == [str(policy.id), None, str(policy.id), None]
    refused = client.post(address, {"cluster": "2xK80", "method": "heft", "policy": str(policy.id)}, **JSON)
    assert refused.status_code == 400 and error_of(refused)["field"] == "policy"


def test_a_method_that_an_address_does_not_take_is_refused(client: Client, project: Project) -> None:
    answer = client.patch("/api/v1/projects")
    assert answer.status_code == 405 and answer.headers["Allow"] == "GET, POST"
    error_of(answer)


@pytest.mark.parametrize("address", ["/api/v1/nothing", "/api/", "/api/v2/projects", "/api/v1/projects/not-an-id"])
def test_what_is_not_there_is_404_in_the_same_format(address: str, client: Client) -> None:
    answer = client.get(address)
    assert answer.status_code == 404 and error_of(answer)["code"] == "not_found"


def test_the_page_of_the_api_has_no_script_in_it_and_nothing_from_elsewhere(client: Client) -> None:
    answer = client.get("/api/v1/docs")
    page = answer.content.decode()
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert all("src=" in tag.partition(">")[0] for tag in page.split("<script")[1:])
    assert "//" not in page.replace("<!doctype html>", "")
    files = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(files) == 5 and [client.get(file).status_code for file in files] == [200] * 5
    assert client.get("/api/v1/", follow=True).redirect_chain == [("/api/v1/docs", 302)]


def test_every_address_knows_the_operation_of_each_method() -> None:
    for pattern in cast("list[URLPattern]", server.urls[0]):
        operations = getattr(pattern.callback, "operations", None)
        if pattern.name not in ("openapi-json", "openapi-view", "api-root"):
            assert operations and all(callable(operation) for operation in operations.values()), pattern


@pytest.mark.slow
def test_large_bodies_are_refused_by_the_real_server_in_the_same_format(around: Surroundings, project: Project) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", around.start_web(), timeout=30)
    body = json.dumps({"name": "x" * 2 * 1024**2}).encode()
    connection.request("POST", "/api/v1/projects", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert response.status == 413 and response.headers["Content-Type"] == "application/json"
    assert json.loads(response.read())["error"]["code"] == "too_large"
