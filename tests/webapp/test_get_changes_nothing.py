"""No request by GET writes to the database, sends a task or starts a process, at any address of the application."""

import json
import re
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.db.backends.utils import CursorWrapper
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from pytest_django import Settings

from tests.engine.policies.small_policies import small_card, small_policy
from tests.webapp.conftest import MemoryBroker
from tests.webapp.run_rows import answered, compared, searched, started
from webapp.comparisons.models import Comparison
from webapp.graphs.models import Graph
from webapp.hooks.models import Delivery, Webhook
from webapp.jobs.models import Event
from webapp.measuring.models import Calibration, Profile, StepMeasurement
from webapp.pages.exports.placements import OF_PLACEMENT
from webapp.pages.exports.tables import OF_RUN
from webapp.pages.runs.downloads import NAMES
from webapp.plans.models import PlanSearch
from webapp.policies import lifecycle
from webapp.policies.models import Policy
from webapp.policies.training_plan import TrainingPlan
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.sharing.models import ShareLink, make_link
from webapp.supervisor.parts import QUEUES
from webapp.uploads import receiving

pytestmark = pytest.mark.usefixtures("transactional_db")

PROBES = ("health/", "health/ready", "status/")
"""They may write one row, always the same, at most every ten seconds: they ask whether database, broker and disk store
what is written. `test_health.py` has their tests."""
FILES_OF_A_CHILD = (
    *("placed.pb", "placed.pbtxt", "placed.zip", "placed.onnx", "placed-stages.zip"),
    *("comparison.png", "comparison.svg"),
)
"""They may start a process, which writes the placed graph or draws the figure with limits, and ends with the answer."""
NOT_MADE_HERE = (
    *("/simplest/", "/measurement.json", "/blocks.json"),
    *("/accounts/", "/account/", "/users/", "/members"),
    "/api/v1/measurements/",
    *(".device_map.json", ".split_spec.json", ".layers.json"),
)
"""what the rows below have no result for, or what is not there without accounts"""
READS = ("SELECT", "SAVEPOINT", "RELEASE", "PRAGMA", "SET", "BEGIN", "EXPLAIN", "ROLLBACK")
SHOWN_BY = {
    "comparison": "comparisons",
    "table": "comparisons",
    "plan.json": "plans",
    **dict.fromkeys(("view.json", "status.json"), "graphs"),
}
"""part of an address below a link → what such a link shows; the others are of a run"""
PLACEHOLDER = re.compile(r"<(?:\w+:)?(\w+)>")


class Rows(NamedTuple):
    """Placeholder → value, for each set of rows; and the secret links."""

    ended: Mapping[str, object]
    waiting: Mapping[str, object]
    tokens: Mapping[str, str]


def patterns(resolver: URLResolver, before: str = "") -> Iterator[str]:
    """Every address, with placeholders."""
    for part in resolver.url_patterns:
        address = before + str(part.pattern)
        if isinstance(part, URLPattern):
            yield address
        else:
            yield from patterns(part, address)


ADDRESSES = sorted(
    address
    for address in set(patterns(get_resolver())) - set(PROBES)
    if not address.endswith(FILES_OF_A_CHILD) and not address.startswith("admin/")
)


class Recorder:
    """What changes anything while it is on: statements that write, and processes that start."""

    def __init__(self) -> None:
        self.changes: list[str] = []
        self.is_on = False

    def note(self, change: str) -> None:
        if self.is_on:
            self.changes.append(change)

    def changes_of(self, request: Callable[..., Any], *arguments: Any) -> list[str]:
        """What changes during a request, until its answer is closed."""
        self.changes, self.is_on = [], True
        try:
            request(*arguments).close()
        finally:
            self.is_on = False
        return self.changes


_recorder = Recorder()


@sys.addaudithook
def _note_process(event: str, _arguments: object) -> None:
    if event in ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"):
        _recorder.note(event)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """One that sees the statements of all threads."""
    for name in ("execute", "executemany"):
        whole = getattr(CursorWrapper, name)

        def noting(cursor: CursorWrapper, sql: str, *more: Any, whole: Any = whole) -> Any:
            if not sql.lstrip("( \n").upper().startswith(READS):
                _recorder.note(sql)
            return whole(cursor, sql, *more)

        monkeypatch.setattr(CursorWrapper, name, noting)
    return _recorder


@pytest.fixture
def rows(project: Project, real_graph: Graph, client: Client, release_policy: Path, broker: MemoryBroker) -> Rows:
    """A database with ended jobs of every kind and what was kept of them; and with waiting ones."""
    run, groups = answered(real_graph, last_seq=1, started_at=timezone.now(), finished_at=timezone.now())
    episode = {"type": "episode", "seq": 1, "version": 1, "episode": 1, "step_time_us": 5.0, "feasible": True}
    episode |= {"best_step_time_us": 3.0, "evaluations": 2, "elapsed_seconds": 0.5, "placement": [1] * groups}
    Event.objects.create(job_id=run.id, seq=1, type="episode", data=json.dumps(episode))
    comparison, blob = compared(real_graph, 2), small_policy().to_bytes()
    policy = lifecycle.keep_file("kept", Policy.UPLOADED, blob, small_card().to_json())
    release_policy.write_bytes(blob)  # which no process has looked at
    profile = Profile.objects.create(graph=real_graph, status=Profile.DONE)
    profile.times_path.parent.mkdir()
    profile.times_path.write_bytes(b"times")
    measurement = StepMeasurement.objects.create(graph=real_graph, cluster=run.cluster, rounds=2, steps=2)
    given = {"name": "mine", "placement": json.dumps([1] * groups)}
    kept = client.post(f"/runs/{run.id}/placements/", given, headers={"accept": "application/json"})
    hook = Webhook.objects.create(project=project, name="Ours", target="https://hooks.example.org/", events=[])
    ended = {
        "project_id": project.id,
        "graph_id": real_graph.id,
        "run_id": run.id,
        "other_id": comparison.compared_runs.values_list("run_id", flat=True)[0],
        "comparison_id": comparison.id,
        "policy_id": policy.id,
        "profile_id": profile.id,
        "measurement_id": measurement.id,
        "calibration_id": Calibration.objects.create(status=Calibration.DONE).id,
        "placement_id": kept.json()["id"],
        "search_id": searched(real_graph, is_done=True).id,
        "link_id": uuid.uuid4(),
        "hook_id": hook.id,
        "upload_id": receiving.begin(project, "large.pb", 9, "").id,
        "delivery_id": Delivery.objects.create(webhook=hook, event="run.finished", key="1", body="{}").id,
    }
    waiting_graph = Graph.objects.create(project=project, name="small.json", suffix=".json")
    waiting_comparison = Comparison.objects.create(
        graph=real_graph, cluster=run.cluster, methods=["random"], seeds=1, evaluations=9
    )
    waiting = {
        **ended,
        "graph_id": waiting_graph.id,
        "run_id": started(real_graph).id,
        "comparison_id": waiting_comparison.id,
        "policy_id": lifecycle.start_training("new", TrainingPlan((), (), (), ("2xK80",), 9.0, 0, 1)).id,
        "profile_id": Profile.objects.create(graph=real_graph).id,
        "calibration_id": Calibration.objects.create().id,
        "search_id": searched(real_graph, is_done=False).id,
    }
    search = PlanSearch.objects.get(id=ended["search_id"])
    shown: dict[str, Run | Comparison | Graph | PlanSearch] = {
        "runs": run,
        "comparisons": comparison,
        "graphs": real_graph,
        "plans": search,
    }
    tokens = {name: make_link(row) for name, row in shown.items()}
    ShareLink.objects.update(last_used_at=timezone.now())  # a link notes its use once a minute
    for queue in QUEUES:
        broker.messages(queue)
    return Rows(ended, waiting, tokens)


def addresses_of(pattern: str, ids: Mapping[str, object], tokens: Mapping[str, str]) -> Iterator[str]:
    """`pattern` with each value that its placeholders may have."""
    of_what = next((name for word, name in SHOWN_BY.items() if word in pattern), "runs")
    values = {name: [str(value)] for name, value in ids.items()}
    values |= {
        "token": [tokens[of_what]],
        "seq": ["1"],
        "of": ["ops", "groups"],
        "number": ["0"],
        **{key: [str(uuid.UUID(int=1))] for key in ("session_number", "user_id", "token_id", "uidb64")},
        "username": ["nobody"],
        "entry": ["js/pages/run-page"],
        "names": ["base"],
        "name": names_of(pattern),
    }
    names = PLACEHOLDER.findall(pattern)
    for chosen in product(*(values[name] for name in names)):
        address = pattern
        for value in chosen:
            address = PLACEHOLDER.sub(value, address, count=1)
        yield f"/{address}" + ("?group=0" if address.endswith("scope.json") else "")


def names_of(pattern: str) -> list[str]:
    """The names of files that a pattern takes."""
    if pattern.endswith("exports/run/<str:name>"):
        return [*OF_RUN]
    if pattern.endswith("exports/<str:name>"):
        return [*OF_PLACEMENT]
    if pattern.endswith("comparisons/<uuidstr:comparison_id>/files/<name>"):
        return ["comparison.json", "comparison.md"]
    of_runs = [name for name in NAMES if name not in FILES_OF_A_CHILD]
    return of_runs if pattern.endswith("<download_name:name>") else ["placement.json"]


@pytest.mark.parametrize("which", ["ended", "waiting"])
def test_no_address_changes_anything(
    which: str, rows: Rows, recorder: Recorder, client: Client, broker: MemoryBroker, settings: Settings
) -> None:
    settings.METRICS_TOKEN = "a token that is long enough"
    headers = {"Authorization": f"Bearer {settings.METRICS_TOKEN}"}
    ids, changed = getattr(rows, which), {}
    answers: dict[str, Any] = {}

    def asked(address: str) -> Any:
        answers[address] = client.get(address, headers=headers)
        return answers[address]

    for pattern in ADDRESSES:
        for address in addresses_of(pattern, ids, rows.tokens):
            changes = recorder.changes_of(asked, address)
            if changes:
                changed[address] = changes
    assert changed == {}
    assert {queue: broker.messages(queue) for queue in QUEUES} == {queue: [] for queue in QUEUES}
    statuses = {address: answer.status_code for address, answer in answers.items()}
    assert {address: status for address, status in statuses.items() if status >= 500} == {}
    if which == "ended":
        missing = {address for address, status in statuses.items() if status not in (200, 302, 405)}
        assert not [address for address in missing if not any(part in address for part in NOT_MADE_HERE)]


@pytest.mark.parametrize("query", ["policies/train/?like={policy_id}", "policies/train/?project={project_id}"])
def test_a_form_that_is_filled_in_changes_nothing(query: str, rows: Rows, recorder: Recorder, client: Client) -> None:
    address = "/" + query.format(**rows.ended)
    assert recorder.changes_of(client.get, address) == []


def test_a_change_would_be_noted(rows: Rows, recorder: Recorder, client: Client) -> None:
    """The exceptions above, and a POST."""
    run = f"/runs/{rows.ended['run_id']}"
    figure = f"/comparisons/{rows.ended['comparison_id']}/comparison.svg"
    for address in (f"{run}/placed.pb", figure):
        assert "subprocess.Popen" in recorder.changes_of(client.get, address)
    [written] = recorder.changes_of(client.post, f"{run}/rename/", {"name": "other"})
    assert written.startswith("UPDATE")
