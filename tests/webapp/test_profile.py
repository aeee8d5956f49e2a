"""A person has a graph's op times measured on a worker."""

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db.models.functions import Now
from django.test import Client

from engine import api
from tests.webapp.conftest import MemoryBroker
from tests.webapp.downloads import content_of
from tests.webapp.graph_files import graphdef
from tests.webapp.purge import purge
from tests.webapp.states import state_of
from webapp.graphs.graph_options import GraphOptions
from webapp.graphs.models import Graph
from webapp.jobs import heartbeat, reaper
from webapp.jobs.claim import Claim
from webapp.measuring.models import Profile
from webapp.measuring.orphan_files import unknown_profiles
from webapp.measuring.profiling import profile_graph
from webapp.projects.models import Project

pytestmark = pytest.mark.usefixtures("transactional_db")

JSON = {"accept": "application/json"}
RESULT: dict[str, api.Json] = {
    "ops": 5,
    "measured_ops": 4,
    "classes": ["CPU"],
    "step_time_us": {"CPU": 1234.5},
    "left_out": [["<b>save</b>", "it writes files"]],
}
TIMES = b"step stats"

Profiling = Callable[..., dict[str, api.Json]]


@pytest.fixture
def graph(project: Project, data_folder: Path) -> Graph:
    """A graph that is ready, read with options."""
    reading = api.ReadingOptions(batch_size=3)
    options = GraphOptions(reading, 7).to_json()
    graph = Graph.objects.create(project=project, name="My net.pb", suffix=".pb", status=Graph.READY, options=options)
    graph.source_path.parent.mkdir()
    graph.source_path.write_bytes(graphdef())
    return graph


@pytest.fixture
def profile(graph: Graph) -> Profile:
    """One that waits."""
    return Profile.objects.create(graph=graph)


def start(client: Client, graph: Graph, **fields: str) -> Any:
    """Send the form."""
    return client.post(f"/graphs/{graph.id}/profiles/", {"consent": "on"} | fields, headers=JSON)


def measured(
    path: Path, suffix: str, destination: Path, options: api.ReadingOptions, *_: object, **__: object
) -> dict[str, api.Json]:
    """In the place of `api.profile`."""
    assert (path.read_bytes(), suffix, options.batch_size) == (graphdef(), ".pb", 3)
    destination.write_bytes(TIMES)
    return RESULT


def carry_out(profile: Profile, monkeypatch: pytest.MonkeyPatch, profiling: Profiling = measured) -> Profile:
    """Let the worker do it."""
    monkeypatch.setattr(api, "profile", profiling, raising=False)
    profile_graph(profile.id)
    return Profile.objects.get(id=profile.id)


def files_in(folder: Path) -> list[Path]:
    """Every file of the data folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_it_is_queued_and_its_page_says_so(client: Client, graph: Graph, broker: MemoryBroker) -> None:
    response = start(client, graph)
    profile = Profile.objects.get()
    assert response.url == f"/graphs/{graph.id}/"
    assert broker.messages("execute") == [["execute"]]
    expected = {"status": "queued", "stage": "", "done": 0, "total": 0, "error": ""}
    assert state_of(client, "profile", profile.id) == expected
    assert f'data-job-id="{profile.id.hex}"' in client.get(response.url).content.decode()


def test_it_needs_consent(client: Client, graph: Graph, broker: MemoryBroker) -> None:
    response = start(client, graph, consent="")
    assert response.status_code == 400
    assert response.json() == {
        "errors": {"consent": ["Measuring executes the graph; it starts once you agree to that."]}
    }
    page = client.post(f"/graphs/{graph.id}/profiles/", {})
    assert page.status_code == 400
    assert "once you agree" in page.content.decode()
    assert not Profile.objects.exists()
    assert broker.messages("execute") == []


NOT_TENSORFLOW = "This graph was uploaded as node-link JSON, which TensorFlow cannot run; there is nothing to measure."


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"status": Graph.QUEUED}, "This graph has not been read yet; it can be measured once it is ready."),
        ({"status": Graph.FAILED}, "This graph has not been read yet; it can be measured once it is ready."),
        ({"suffix": ".json"}, NOT_TENSORFLOW),
    ],
)
def test_some_graphs_cannot_be_measured(client: Client, graph: Graph, columns: dict[str, str], sentence: str) -> None:
    Graph.objects.update(**columns)
    response = start(client, graph)
    assert response.status_code == 400
    assert response.json() == {"errors": {"": [sentence]}}
    assert not Profile.objects.exists()


def test_pressing_twice_measures_once(client: Client, graph: Graph) -> None:
    start(client, graph)
    response = start(client, graph)
    assert response.status_code == 409
    assert response.json() == {"errors": {"": ["This graph is already being measured."]}}
    assert client.post(f"/graphs/{graph.id}/profiles/", {"consent": "on"}).status_code == 302
    assert Profile.objects.count() == 1


def test_its_times_can_be_downloaded_and_used(
    client: Client, profile: Profile, data_folder: Path, broker: MemoryBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = carry_out(profile, monkeypatch)
    assert (done.status, done.result, done.error, done.stage) == (Profile.DONE, RESULT, "", "")
    assert files_in(data_folder) == sorted([done.graph.source_path, done.times_path])
    page = client.get(f"/graphs/{done.graph_id}/").content.decode()
    assert "it writes files" in page
    assert "<b>save</b>" not in page

    answer = client.get(f"/profiles/{done.id}/run_metadata.pb")
    assert content_of(answer) == TIMES
    assert answer.headers["Content-Disposition"] == 'attachment; filename="my-net-run-metadata.pb"'

    used = client.post(f"/profiles/{done.id}/use/")
    new = Graph.objects.exclude(id=done.graph_id).get()
    assert used.headers["Location"] == f"/graphs/{new.id}/"
    assert new.own_options == done.graph.own_options
    assert new.times_path.read_bytes() == TIMES
    assert new.times_name.startswith("measured 20")
    assert broker.messages("cpu") == [["cpu"]]


def test_a_second_message_does_nothing(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    Profile.objects.update(status=Profile.DONE)
    carry_out(profile, monkeypatch, lambda *_: pytest.fail("it is measured already"))


def test_a_graph_that_cannot_be_run_has_failed_with_its_sentence(
    client: Client, profile: Profile, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path, _suffix: str, destination: Path, *_: object, **__: object) -> dict[str, api.Json]:
        destination.write_bytes(b"half")
        raise api.GraphError("it reads files", where="input/ReadFile")

    failed = carry_out(profile, monkeypatch, refuse)
    assert (failed.status, failed.error) == (Profile.FAILED, "input/ReadFile: it reads files")
    assert "input/ReadFile: it reads files" in client.get(f"/graphs/{failed.graph_id}/").content.decode()
    assert files_in(data_folder) == [failed.graph.source_path]


@pytest.mark.parametrize("status", [Profile.QUEUED, Profile.RUNNING, Profile.FAILED, Profile.CANCELLED])
def test_there_are_times_only_once_it_is_done(client: Client, profile: Profile, status: str) -> None:
    Profile.objects.update(status=status)
    assert client.get(f"/profiles/{profile.id}/run_metadata.pb").status_code == 404
    assert client.post(f"/profiles/{profile.id}/use/", headers=JSON).status_code == 409
    assert Graph.objects.count() == 1


def test_progress_is_shown(client: Client, profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def profiling(*arguments: Any, **_: object) -> dict[str, api.Json]:
        arguments[5]("running the graph", 3, 12)
        seen.append(state_of(client, "profile", profile.id))
        raise api.GraphError("enough")

    carry_out(profile, monkeypatch, profiling)
    assert seen == [{"status": "running", "stage": "running the graph", "done": 3, "total": 12, "error": ""}]


def test_one_that_waits_is_cancelled_at_once(client: Client, profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.post(f"/profiles/{profile.id}/cancel/").status_code == 302
    assert carry_out(profile, monkeypatch, lambda *_: pytest.fail("cancelled")).status == Profile.CANCELLED
    response = client.post(f"/profiles/{profile.id}/cancel/", headers=JSON)
    assert response.status_code == 409
    assert response.json() == {"errors": {"": ["This measurement had already ended."]}}


def test_one_that_runs_ends_at_its_next_pulse(
    client: Client, profile: Profile, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph that loops for ever reports nothing."""
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)

    def profiling(*arguments: Any, pulse: Callable[[], None]) -> dict[str, api.Json]:
        arguments[2].write_bytes(b"half")
        client.post(f"/profiles/{profile.id}/cancel/")
        assert "Cancelling" in client.get(f"/graphs/{profile.graph_id}/").content.decode()
        for _ in range(2000):
            pulse()
            time.sleep(0.01)
        pytest.fail("the pulse ends the work")

    cancelled = carry_out(profile, monkeypatch, profiling)
    assert (cancelled.status, cancelled.error, cancelled.stage) == (Profile.CANCELLED, "", "")
    assert files_in(data_folder) == [profile.graph.source_path]


def test_one_whose_graph_is_deleted_leaves_nothing(
    client: Client, profile: Profile, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def profiling(*arguments: Any, **_: object) -> dict[str, api.Json]:
        arguments[2].write_bytes(TIMES)
        client.post(f"/graphs/{profile.graph_id}/delete/")
        return RESULT

    monkeypatch.setattr(api, "profile", profiling, raising=False)
    profile_graph(profile.id)
    assert not Profile.objects.exists()
    purge()
    assert files_in(data_folder) == []


def test_its_file_goes_with_the_graph_and_not_before(
    client: Client, profile: Profile, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out(profile, monkeypatch)
    stray = data_folder / "profiles" / "stray.pb"
    stray.touch()
    assert list(unknown_profiles()) == [stray]
    stray.unlink()
    assert len(files_in(data_folder)) == 2
    client.post(f"/projects/{profile.graph.project_id}/delete/")
    purge()
    assert files_in(data_folder) == []


def test_the_reaper_gives_back_what_a_dead_worker_left(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaper, "SECOND_LOOK_AFTER_SECONDS", 0.01)
    assert Claim.take(Profile, profile.id) is not None
    Profile.objects.update(heartbeat_at=Now() - timedelta(seconds=settings.STALE_AFTER_SECONDS + 1))
    assert reaper.reap(Profile) == 1
    assert carry_out(profile, monkeypatch).status == Profile.DONE


def test_what_does_not_exist_is_reported(client: Client, profile: Profile) -> None:
    profile_id = profile.id
    profile.delete()
    for path in ("cancel/", "use/"):
        response = client.post(f"/profiles/{profile_id}/{path}", headers=JSON)
        assert response.status_code == 404
        assert response.json()["errors"][""] == ["This measurement does not exist, or it has been deleted."]
    assert client.get(f"/profiles/{profile_id}/use/").status_code == 405
