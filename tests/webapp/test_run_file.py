"""A run as one HTML file: its own scripts alone, names as text, as large as it says."""

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from engine import api
from tests.webapp.scripted_engine import CLUSTER
from webapp.graphs.models import Graph
from webapp.jobs.models import Event
from webapp.pages.exports import run_file
from webapp.pages.packs.packs import FRONTEND, script_of
from webapp.runs.models import Answer, Run

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'</body>__proto__"
EPISODES = 40


@pytest.fixture
def run(real_graph: Graph) -> Run:
    """A run that has ended on a graph with a hostile name: its fifth episode is the best."""
    groups = api.PreparedGraph.from_bytes(bytes(real_graph.prepared.blob)).grouping.group_count
    Graph.objects.filter(id=real_graph.id).update(op_count=9, name=HOSTILE)
    real_graph.refresh_from_db()
    run = Run.objects.create(
        graph=real_graph,
        cluster=CLUSTER,
        method="heft",
        settings={},
        evaluations=99,
        seed=0,
        status=Run.DONE,
        last_seq=EPISODES + 1,
        error=HOSTILE,
        policy_name=HOSTILE,
    )
    Answer.objects.create(run=run, step_time_us=3.0, device_of_group=[0] * groups)
    baseline = {"type": "baseline", "seq": 1, "version": 1, "method": "random", "note": HOSTILE, "step_time_us": 9.0}
    events: list[dict[str, Any]] = [{**baseline, "mean_step_time_us": 9.0, "evaluations": 1, "placement": [1] * groups}]
    for number in range(1, EPISODES + 1):
        step_us = 3.0 if number == 5 else 100.0 - number
        rest = {"evaluations": number, "elapsed_seconds": 0.5, "placement": [number % 2] * groups}
        times = {"step_time_us": step_us, "feasible": True, "best_step_time_us": step_us}
        events.append({"type": "episode", "seq": number + 1, "version": 1, "episode": number, **times, **rest})
    for event in events:
        Event.objects.create(job_id=run.id, seq=event["seq"], type=event["type"], data=json.dumps(event))
    return run


class Tags(HTMLParser):
    """The tags of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def file_of(client: Client, run: Run) -> str:
    answer = client.get(f"/runs/{run.id}/exports/run/run.html", headers={"accept-encoding": "gzip, br"})
    assert answer.status_code == 200, answer.content[:500]
    assert "html" not in answer["Content-Type"], "it is saved, not shown"
    assert answer["Content-Disposition"].endswith('-run.html"')
    return str(answer.content.decode())


def data_of(text: str) -> Any:
    return json.loads(re.findall(r'<script type="application/json" id="file-data">(.*?)</script>', text, re.DOTALL)[0])


def test_its_policy_allows_its_own_scripts_and_styles_alone(client: Client, run: Run) -> None:
    text = file_of(client, run)
    [policy] = [str(found["content"]) for _, found in Tags(text).tags if found.get("http-equiv")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy and "http" not in policy
    code = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    code += re.findall(r"<style [^>]*>(.*?)</style>", text, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in code]
    assert len(digests) == 4
    assert sorted(re.findall(r"'sha256-([^']+)'", policy)) == sorted(digests)


def test_it_needs_nothing_from_elsewhere_and_names_nothing_of_the_server(client: Client, run: Run) -> None:
    text = file_of(client, run)
    page = Tags(text)
    assert not [tag for tag, found in page.tags if tag in ("link", "img", "iframe", "form") or "src" in found]
    addresses = {found["href"] for _, found in page.tags if found.get("href")}
    assert not [address for address in addresses if str(address).startswith(("/", "http"))]
    for hidden in (run.id, run.graph_id, run.graph.project_id):
        assert str(hidden) not in text


def test_names_are_text(client: Client, run: Run) -> None:
    text = file_of(client, run)
    assert "<script>alert" not in text and "<img src=x" not in text
    assert html.escape(HOSTILE) in text
    scripts = [found for tag, found in Tags(text).tags if tag == "script"]
    assert len(scripts) == 6, "theme, run, method labels, data, answers, modules"


def test_it_has_what_the_page_asks_for(client: Client, run: Run) -> None:
    data = data_of(file_of(client, run))
    assert set(data["texts"]) == {"graph.json", "ops.json", "costs.json", "events.json"}
    assert len(data["texts"]["events.json"]["events"]) == EPISODES + 1
    assert set(data["blobs"]) == {"explanations/6", "explanations/1"}
    own = client.get(f"/runs/{run.id}/explanations/6").content
    assert base64.b64decode(data["blobs"]["explanations/6"]) == own


def test_a_long_run_is_thinned_to_its_improvements_and_its_end(
    client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_file, "MOST_EVENT_BYTES", 1000)
    monkeypatch.setattr(run_file, "MOST_STEP_BYTES", 1)
    data = data_of(file_of(client, run))
    kept = [event["seq"] for event in data["texts"]["events.json"]["events"]]
    assert {1, 2, 6, EPISODES + 1} <= set(kept) and len(kept) < EPISODES / 2
    assert set(data["blobs"]) == {"explanations/6"}, "the best one in any case"


def test_a_run_that_works_has_no_file_yet(client: Client, run: Run) -> None:
    Run.objects.update(status=Run.RUNNING)
    answer = client.get(f"/runs/{run.id}/exports/run/run.html", headers={"accept": "application/json"})
    assert answer.status_code == 404
    assert "once it has ended" in answer.content.decode()


def test_the_bundle_has_each_module_once_and_no_import_is_left() -> None:
    text = script_of("js/pages/run-page.js")
    assert not re.search(r"^(import|export) ", text, re.MULTILINE)
    assert "await import(" not in text and "</script" not in text.lower()
    assert text.count("class TimelineView ") == 1
    for name in ("js/step/step.js", "js/graph/graph-view.js"):
        first = re.findall(r"^export (?:class|function|const) (\w+)", (FRONTEND / name).read_text(), re.MULTILINE)[0]
        assert re.search(rf"\b{first}\b", text)
