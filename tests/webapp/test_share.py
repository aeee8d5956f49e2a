"""A secret link opens one run or comparison and changes nothing; it ends when it is revoked or its target deleted."""

import json
import logging
import re
import sys
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.utils.module_loading import import_string

from engine import api
from tests.webapp.run_rows import answered, compared
from webapp.comparisons import lifecycle
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.jobs import deletion
from webapp.jobs.models import Event
from webapp.logs import logging_settings
from webapp.pages.sharing.links import LONGEST_QUERY
from webapp.runs.models import Run
from webapp.sharing.models import MOST_LINKS, ShareLink

JSON = {"accept": "application/json"}


@pytest.fixture
def run(real_graph: Graph) -> Run:
    """A run that has ended, with one episode."""
    run, groups = answered(real_graph, last_seq=1)
    episode = {
        "type": "episode",
        "seq": 1,
        "version": 1,
        "episode": 1,
        "step_time_us": 5.0,
        "feasible": True,
        "best_step_time_us": 3.0,
        "evaluations": 2,
        "elapsed_seconds": 0.5,
        "placement": [1] * groups,
    }
    Event.objects.create(job_id=run.id, seq=1, type="episode", data=json.dumps(episode))
    return run


def path_of(client: Client, what: Run | Comparison, **fields: str) -> str:
    """The path of a new link."""
    kind = "runs" if isinstance(what, Run) else "comparisons"
    answer = client.post(f"/{kind}/{what.id}/links/new", fields, headers=JSON)
    assert answer.status_code == 201
    address = answer.json()["url"]
    assert address.startswith("http://testserver/shared/")
    return str(address).removeprefix("http://testserver")


def get(client: Client, path: str) -> Any:
    return client.get(path, headers=JSON)


RUN_DATA = [
    *(
        "",
        "graph.json",
        "ops.json",
        "costs.json",
        "drawing.json",
        "events.json",
        "explanations/1",
        "placement.json",
        "report.json",
    ),
    *("exports/groups.csv", "exports/trace.json", "exports/model-explorer.json", "exports/run/episodes.csv"),
]


@pytest.mark.parametrize("name", RUN_DATA)
def test_a_link_opens_the_run_and_its_data_and_keeps_itself_from_others(client: Client, run: Run, name: str) -> None:
    answer = get(client, path_of(client, run) + name)
    assert answer.status_code == 200, answer.content
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "noindex" in answer["X-Robots-Tag"]
    own = get(client, f"/runs/{run.id}/{name}")
    if name and own.status_code == 200:
        assert answer.content == own.content


def test_a_viewer_may_try_a_move(client: Client, run: Run) -> None:
    groups = api.PreparedGraph.from_bytes(bytes(run.graph.prepared.blob)).grouping.group_count
    sent = {"placement": json.dumps([1] * groups), "groups": "[0]"}
    path = path_of(client, run)
    for name in ("step", "gains.json"):
        assert client.post(path + name, sent).content == client.post(f"/runs/{run.id}/{name}", sent).content
        assert client.post(path + name, {**sent, "base": "event-1"}).status_code == 200, "a placement of this run"
        for other in (str(run.id), f"run-{run.id}"):
            assert client.post(path + name, {**sent, "base": other}).status_code == 404, "a row beside the run"


@pytest.mark.parametrize("kind", ["run", "comparison"])
def test_the_page_changes_nothing_and_leads_nowhere(client: Client, run: Run, kind: str) -> None:
    what: Run | Comparison = run if kind == "run" else compared(run.graph, seeds=2)
    path = path_of(client, what)
    page = client.get(path).content.decode()
    assert "<form" not in page
    assert 'name="csrfmiddlewaretoken"' in page or kind == "comparison"
    links = set(re.findall(r'(?:href|action|data-[a-z]+)="([^"]*)"', page))
    assert not [link for link in links if link.startswith("/") and not link.startswith("/static/")], links
    for hidden in (run.id, run.graph_id, run.graph.project_id, what.id):
        assert str(hidden) not in page and hidden.hex not in page
    for name in re.findall(r'href="([^"#/]+(?:/[^"]*)?)" data-download', page):
        assert get(client, path + name).status_code == 200, name


@pytest.mark.parametrize("name", ["cancel/", "delete/", "placed.pb", "placed.pbtxt", "links/", "links/new", "run.json"])
def test_what_changes_the_run_or_gives_its_file_is_not_below_the_link(client: Client, run: Run, name: str) -> None:
    path = path_of(client, run)
    assert get(client, path + name).status_code == 404
    assert client.post(path + name, headers=JSON).status_code == 404
    assert Run.objects.filter(id=run.id).exists()


def test_a_comparison_is_opened_with_its_data_alone(client: Client, run: Run) -> None:
    path = path_of(client, compared(run.graph, seeds=2))
    for name in ("", "events.json", "table.html", "comparison.md", "comparison.json"):
        assert get(client, path + name).status_code == 200, name
    for name in ("graph.json", "explanations/1", "exports/groups.csv"):
        assert get(client, path + name).status_code == 404, name
    assert get(client, path_of(client, run) + "table.html").status_code == 404


@pytest.mark.parametrize("how", ["unknown", "revoked", "deleted", "graph deleted"])
def test_another_link_is_404_with_a_sentence(client: Client, run: Run, how: str) -> None:
    path = path_of(client, run)
    if how == "unknown":
        path = path[:-3] + "x/"
    elif how == "revoked":
        answer = client.post(f"/links/{ShareLink.objects.get().id}/revoke", headers=JSON)
        assert answer.status_code == 204
    else:
        deletion.delete(run if how == "deleted" else run.graph)
    for name in ("", "events.json", "graph.json", "explanations/1"):
        answer = get(client, path + name)
        assert answer.status_code == 404
        assert "revoked" in json.loads(answer.content)["errors"][""][0]
    assert ShareLink.objects.count() == (1 if how == "unknown" else 0)


@pytest.mark.parametrize(
    ("ending", "status"), [("", 404), ("x/", 404), ("nothing/at/all", 404), ("events.json?limit=x", 400), ("", 500)]
)
def test_an_error_below_a_link_leads_nowhere_either(
    run: Run, ending: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(raise_request_exception=False)
    path = path_of(client, run) if status != 404 else "/shared/unknown/"
    if status == 500:
        monkeypatch.setattr("webapp.pages.sharing.views.run_context", lambda _run: 1 // 0)
    answer = client.get(path + ending)
    assert answer.status_code == status
    page = answer.content.decode()
    links = re.findall(r'(?:href|action)="([^"]*)"', page)
    assert not [link for link in links if not link.startswith(("/static/", "#"))], links
    assert 'name="robots"' in page and "data-error" in page
    assert 'href="/"' in client.get("/nothing/").content.decode()


def test_a_deleted_comparison_takes_its_links_and_those_of_its_runs_along(client: Client, run: Run) -> None:
    comparison = compared(run.graph, seeds=2)
    path_of(client, comparison)
    path_of(client, Run.objects.filter(compared__comparison=comparison)[0])
    lifecycle.delete(comparison)
    assert not ShareLink.objects.exists()


def test_the_database_cannot_open_the_link_and_it_is_shown_once(client: Client, run: Run) -> None:
    path = path_of(client, run)
    token = path.split("/")[2]
    assert len(token) >= 43
    assert token not in str(list(ShareLink.objects.values()))
    page = client.get(f"/runs/{run.id}/").content.decode()
    assert token not in page and page.count('data-part="revoke"') == 1


def test_a_link_keeps_the_view_and_nothing_but_a_query(client: Client, run: Run) -> None:
    path = path_of(client, run, query="?show=episode-17&group=3#<script>&x=//other")
    assert re.fullmatch(r"/shared/[\w-]+/\?show=episode-17&group=3%23%3Cscript%3E&x=%2F%2Fother", path)


def test_a_view_that_is_too_long_for_a_link_is_refused_and_makes_none(client: Client, run: Run) -> None:
    answer = client.post(f"/runs/{run.id}/links/new", {"query": "?show=" + "a" * LONGEST_QUERY}, headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["errors"]["query"] == ["What is shown takes 8,005 characters of a link; allowed: 8,000."]
    assert not ShareLink.objects.exists()


def test_without_script_the_page_of_links_makes_and_revokes(client: Client, run: Run) -> None:
    made = client.post(f"/runs/{run.id}/links/new", {"query": ""})
    [address] = set(re.findall(r'href="(http://testserver/shared/[^"]+)"', made.content.decode()))
    assert client.get(address).status_code == 200
    answer = client.post(f"/links/{ShareLink.objects.get().id}/revoke")
    assert answer.status_code == 302 and answer["Location"] == f"/runs/{run.id}/links/"
    assert client.get(address).status_code == 404


def test_the_number_of_links_is_bounded(client: Client, run: Run) -> None:
    ShareLink.objects.bulk_create(ShareLink(digest=str(number), run=run) for number in range(MOST_LINKS))
    answer = client.post(f"/runs/{run.id}/links/new", headers=JSON)
    assert answer.status_code == 413
    assert "revoke one" in answer.content.decode()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_the_logs_hide_tokens(rf: RequestFactory, log_format: str) -> None:
    [made] = logging_settings(log_format, "INFO")["formatters"].values()
    options = {name: value for name, value in made.items() if name != "()"}
    formatter = import_string(made["()"])(**options)
    record = logging.LogRecord(
        "uvicorn.access", 20, "", 0, '%s - "GET %s HTTP/1.1"', ("::1", "/shared/aB-3_/step"), None
    )
    record.request = rf.get("/shared/aB-3_/x")
    try:
        raise ValueError("at /shared/aB-3_/y")
    except ValueError:
        record.exc_info = sys.exc_info()
    text = formatter.format(record)
    assert "/shared/…/step" in text
    assert "ValueError: at /shared/…/y" in text
    assert "aB-3_" not in text
