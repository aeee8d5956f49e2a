"""The status page shows an operator who works, what waits and what is wrong; the metrics show it to a machine."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from webapp import environment
from webapp.backups.models import BackupRecord
from webapp.graphs.models import Graph
from webapp.jobs.claim import WORKER_VARIABLE, Claim
from webapp.jobs.models import Event
from webapp.pages import health
from webapp.pages.status import metrics, views
from webapp.pages.status.metrics import EvaluationCount, Exposition
from webapp.runs.models import Run
from webapp.workers.models import Worker
from webapp.workers.presence import Presence

TOKEN = "a-token-of-some-length"
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _parts_are_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.pages.status.warnings.part_faults", lambda: dict.fromkeys(("database", "disk"), ""))


@pytest.fixture
def worker() -> Worker:
    """A worker of all queues that has just reported itself."""
    Presence("w1", ("cpu", "execute", "gpu"), "gpu-host", 4711).report("")
    return Worker.objects.get()


@pytest.fixture
def scrape(client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that reads the metrics: name → labels → value."""
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(views, "exposition", Exposition())
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)

    def read() -> dict[str, dict[tuple[str, ...], float]]:
        response = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
        assert response.status_code == 200
        found: dict[str, dict[tuple[str, ...], float]] = {}
        for family in text_string_to_metric_families(response.content.decode()):
            for sample in family.samples:
                found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
        return found

    return read


def status(client: Client) -> dict[str, Any]:
    """The status as a script gets it."""
    response = client.get("/status/", headers={"accept": "application/json"})
    assert response.status_code == 200
    found: dict[str, Any] = response.json()
    return found


def test_the_home_page_leads_to_it(client: Client) -> None:
    assert b'href="/status/"' in client.get("/").content
    assert client.get("/status/").status_code == 200


def test_an_idle_installation_is_well(client: Client, worker: Worker) -> None:
    found = status(client)
    assert found["warnings"] == []
    assert [queue["waiting"] for queue in found["queues"]] == [0, 0, 0]
    assert b"All is well." in client.get("/status/").content


def test_it_shows_who_works_on_what(client: Client, worker: Worker, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKER_VARIABLE, "w1")
    assert Claim.take(Run, run.id) is not None
    [line] = status(client)["workers"]
    assert (line["host"], line["pid"], line["state"], line["takes_jobs"]) == ("gpu-host", 4711, "works", True)
    assert [(job["kind"], job["address"]) for job in line["jobs"]] == [("run", f"/runs/{run.id}/")]
    page = client.get("/status/").content.decode()
    assert f'run <a href="/runs/{run.id}/">Placeto on small.json</a>' in page


def test_waiting_jobs_have_places_by_their_age(client: Client, worker: Worker, run: Run) -> None:
    later = Run.objects.create(graph=run.graph, cluster=run.cluster, method="brkga", settings={}, evaluations=1, seed=1)
    Run.objects.filter(id=run.id).update(created_at=timezone.now() - timedelta(seconds=90))
    [gpu] = [queue for queue in status(client)["queues"] if queue["name"] == "gpu"]
    assert (gpu["waiting"], gpu["takers"]) == (2, 1)
    assert 90 <= gpu["oldest_seconds"] < 100
    assert [job["address"] for job in gpu["first"]] == [f"/runs/{run.id}/", f"/runs/{later.id}/"]


def test_a_queue_that_nobody_takes_is_a_warning(client: Client, run: Run) -> None:
    assert status(client)["warnings"] == ["No worker takes the jobs of the queue gpu: 1 wait."]


def test_a_worker_of_another_version_is_a_warning(client: Client, worker: Worker) -> None:
    Worker.objects.update(takes_nothing_because="another version", version="0.1.9", schema="abcdabcd")
    found = status(client)
    assert found["warnings"] == [
        "The worker cpu,execute,gpu on gpu-host, process 4711 takes nothing: another version (0.1.9, schema abcdabcd)."
    ]
    assert [line["state"] for line in found["workers"]] == ["another version: takes nothing"]


def test_a_worker_without_a_sign_of_life_is_a_warning(client: Client, worker: Worker) -> None:
    Worker.objects.update(seen_at=Now() - timedelta(minutes=20))
    found = status(client)
    assert [line["state"] for line in found["workers"]] == ["no sign of life"]
    assert "has given no sign of life for 20" in found["warnings"][0]
    assert [queue["takers"] for queue in found["queues"]] == [0, 0, 0]


def test_old_and_failed_backups_are_warnings(client: Client, worker: Worker) -> None:
    record = BackupRecord.objects.create(succeeded_at=timezone.now() - 6 * DAY, archive_bytes=1234)
    assert status(client)["warnings"] == []
    record.succeeded_at = timezone.now() - 8 * DAY
    record.failed_at, record.fault = timezone.now() - 2 * DAY, "the disk is full; nothing was written"
    record.save()
    assert [sentence.replace("\xa0", " ") for sentence in status(client)["warnings"]] == [
        "The last backup failed 2 days ago: the disk is full; nothing was written.",
        "The last good backup is 1 week, 1 day old.",
    ]


def test_a_part_that_is_not_well_is_a_warning(
    client: Client, worker: Worker, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(data_folder)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    monkeypatch.setattr("webapp.pages.status.warnings.part_faults", lambda: {"disk": "OSError: odd", "broker": ""})
    assert status(client)["warnings"] == [
        "The disk is not well: OSError: odd",
        "Less than 1 GiB is free on the disk of the data folder.",
    ]


def test_the_last_failures_come_first_and_are_shown_as_text(client: Client, run: Run, graph: Graph) -> None:
    Run.objects.filter(id=run.id).update(status=Run.FAILED, error="<b>odd</b>", finished_at=timezone.now() - DAY)
    Graph.objects.filter(id=graph.id).update(status=Graph.FAILED, error="older", finished_at=timezone.now() - 2 * DAY)
    assert [(job["kind"], job["error"]) for job in status(client)["failed"]] == [
        ("run", "<b>odd</b>"),
        ("graph", "older"),
    ]
    assert b"&lt;b&gt;odd" in client.get("/status/").content


def test_metrics_need_the_setting_and_the_token(client: Client, settings: Settings) -> None:
    assert client.get("/metrics", headers={"authorization": "Bearer "}).status_code == 404
    settings.METRICS_TOKEN = TOKEN
    for header in ("", "Bearer ", f"Bearer {TOKEN}x", TOKEN, "Bearer \xe4"):
        response = client.get("/metrics", headers={"authorization": header})
        assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")
    response = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/plain; version=")


@pytest.mark.parametrize("value", ["short", "with a blank in its middle", "ä" * 20])
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TOKEN", value)
    with pytest.raises(ImproperlyConfigured, match=r"^TOKEN is invalid; allowed: at least 16 ASCII characters"):
        environment.token("TOKEN", shortest=16)


def test_metrics_show_queues_workers_runs_events_and_disk(scrape: Any, worker: Worker, run: Run) -> None:
    before = scrape()["placeto_events_total"][()]
    Event.objects.bulk_create([Event(job_id=run.id, seq=seq, type="episode", data="{}") for seq in range(1, 8)])
    Run.objects.filter(id=run.id).update(created_at=timezone.now() - timedelta(seconds=30))
    BackupRecord.objects.create(succeeded_at=timezone.now(), fault="odd")
    found = scrape()
    assert found["placeto_queue_waiting_jobs"] == {("gpu",): 1.0, ("cpu",): 0.0, ("execute",): 0.0}
    assert 30 <= found["placeto_queue_oldest_waiting_seconds"][("gpu",)] < 40
    assert found["placeto_queue_workers"][("gpu",)] == 1.0
    assert found["placeto_jobs"] == {("graph", "ready"): 1.0, ("run", "queued"): 1.0}
    [(labels, age)] = found["placeto_worker_heartbeat_age_seconds"].items()
    assert labels == ("gpu-host", "4711", "cpu,execute,gpu", worker.version)
    assert 0 <= age < 10
    assert found["placeto_events_total"][()] == before + 7
    assert found["placeto_disk_free_bytes"][()] > 0
    assert found["placeto_disk_used_bytes"][("graphs",)] == 2
    assert found["placeto_backup_failed"][()] == 1
    assert found["placeto_backup_last_success_timestamp_seconds"][()] > 0


def test_metrics_of_an_empty_installation(scrape: Any) -> None:
    found = scrape()
    assert found["placeto_evaluations_total"] == {(): 0.0}
    assert found["placeto_queue_oldest_waiting_seconds"][("gpu",)] == 0.0
    assert "placeto_worker_takes_jobs" not in found


def test_evaluations_are_counted_once_and_never_fall(run: Run) -> None:
    def used(count: int, **columns: Any) -> None:
        Run.objects.filter(id=run.id).update(evaluations_used=count, **columns)

    used(100, status=Run.RUNNING)
    count = EvaluationCount()
    assert count.look() == 0
    used(130)
    assert count.look() == 30
    used(130, status=Run.QUEUED)
    assert count.look() == 30
    used(150, status=Run.DONE, finished_at=timezone.now())
    assert count.look() == 50
    assert count.look() == 50
    other = Run.objects.create(
        graph=run.graph,
        cluster=run.cluster,
        method="brkga",
        settings={},
        evaluations=9,
        seed=1,
        evaluations_used=9,
        status=Run.DONE,
        finished_at=timezone.now(),
    )
    assert count.look() == 59
    other.delete()
    run.delete()
    assert count.look() == 59


def test_metrics_are_read_at_most_every_few_seconds(worker: Worker) -> None:
    now = [0.0]
    exposition = Exposition(clock=lambda: now[0])
    first = exposition()
    Worker.objects.all().delete()
    now[0] = metrics.KEPT_SECONDS - 1
    assert exposition() == first
    now[0] = metrics.KEPT_SECONDS
    assert exposition() != first


def test_health_and_status_ask_the_same_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_writes", health.Writes({part: lambda: "" for part in ("database", "broker", "disk")}))
    monkeypatch.setattr(health, "broker_fault", lambda: "away")
    assert health.part_faults() == {"database": "", "broker": "away", "disk": ""}


def test_a_graph_that_waits_long_to_be_read_is_a_warning(client: Client, worker: Worker, graph: Graph) -> None:
    Graph.objects.filter(id=graph.id).update(status=Graph.QUEUED, created_at=timezone.now() - timedelta(minutes=3))
    warning = "1 graph waits to be read, the first for 3 min; a reading takes at most 8 min."
    assert warning in status(client)["warnings"]
    Graph.objects.filter(id=graph.id).update(created_at=timezone.now())
    assert status(client)["warnings"] == []
