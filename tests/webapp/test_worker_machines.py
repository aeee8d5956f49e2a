"""A worker on another host offers its machine, and a person places a graph on it."""

import json
import os
import signal
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, connections
from django.db.models.functions import Now
from django.test import Client
from pytest_django import Settings

from engine import api
from tests.supervisor.started import eventually
from tests.webapp.machine_file import MACHINE
from tests.webapp.processes import Surroundings
from webapp.graphs.models import Graph
from webapp.jobs import worker_hooks
from webapp.runs.models import Run
from webapp.runs.requests import request_of
from webapp.workers import machine_offer
from webapp.workers.machine_file import MeasuredMachine
from webapp.workers.models import OfferedMachine, Worker
from webapp.workers.presence import KEPT_AFTER_LAST_SIGN, Presence

CHOICE = "Machine gpu-1"
REFUSED = (
    f"{CHOICE}: it is not offered now; a measured machine is offered only while a worker on it runs; allowed: "
    "other devices"
)


def machine(name: str = "1 × another processor", **changes: Any) -> dict[str, Any]:
    """A machine that is not `MACHINE`."""
    changed = deepcopy(MACHINE) | changes
    changed["calibration"]["machine"] = name
    return changed


def worker(host: str = "gpu-1", identity: str = "a-worker") -> Presence:
    return Presence(identity, ("gpu",), host, 42)


def offer(presence: Presence, settings: Settings, content: str) -> None:
    """Let the worker report itself where its machine's file has this content; the web server's machine has none."""
    settings.MACHINE.write_text(content)
    presence.report("")
    settings.MACHINE.unlink()


def page_of(client: Client, graph: Graph) -> str:
    return client.get(f"/graphs/{graph.id}/").content.decode()


def machine_page(client: Client) -> str:
    return client.get("/machine/").content.decode()


def start(client: Client, graph: Graph, **changes: str) -> Any:
    form = {"cluster": CHOICE, "method": "auto", "evaluations": "100", "seed": "0"}
    return client.post(f"/graphs/{graph.id}/runs/", form | changes, headers={"accept": "application/json"})


@pytest.fixture
def offered(settings: Settings) -> Presence:
    """A worker on the host `gpu-1` that has offered its machine."""
    presence = worker()
    offer(presence, settings, json.dumps(machine()))
    return presence


@pytest.mark.usefixtures("offered")
def test_a_machine_of_another_host_is_offered_and_placed_on(client: Client, ready_graph: Graph) -> None:
    words = "machine gpu-1, 1 × another processor, measured 2026-01-31"
    page = page_of(client, ready_graph)
    form = client.get(f"/graphs/{ready_graph.id}/").context["run_form"]
    assert form.device_choices["machines"] == [{"name": CHOICE, "label": words}]
    assert f"or <code>{CHOICE}</code>" in page
    assert '<a href="/machine/">About measured machines</a>' in page
    assert start(client, ready_graph).status_code == 302
    expected = api.parse_cluster(json.dumps(machine()))
    assert api.cluster_to_json(request_of(Run.objects.get()).cluster) == api.cluster_to_json(expected)
    assert "measured 2026-01-31" in client.get(f"/runs/{Run.objects.get().id}/").content.decode()


@pytest.mark.usefixtures("offered")
def test_its_page_shows_what_was_measured(client: Client) -> None:
    page = machine_page(client)
    assert "This machine has not been measured" in page
    assert '<h3 class="name">gpu-1</h3>' in page
    assert "1 × another processor</strong>, measured on 2026-01-31." in page
    assert "Forms offer it under “Machine and links” as “Machine gpu-1”, with 2 devices." in page
    assert "<strong>200</strong>" in page
    assert client.get("/machine/").context["others"][0].host == "gpu-1"


def test_one_whose_worker_has_left_is_refused_in_one_sentence(
    client: Client, ready_graph: Graph, offered: Presence
) -> None:
    offered.leave()
    assert CHOICE not in page_of(client, ready_graph)
    response = start(client, ready_graph)
    assert (response.status_code, response.json()) == (400, {"errors": {"cluster": [REFUSED]}})
    page = machine_page(client)
    assert "No other machine is offered." in page and 'class="button is-primary" type="submit">Calibrate' in page


def test_a_second_calibration_replaces_it_and_a_removed_file_ends_the_offer(settings: Settings) -> None:
    presence = worker()
    for name in ("first", "second"):
        offer(presence, settings, json.dumps(machine(name)))
        assert json.loads(OfferedMachine.objects.get().cluster)["calibration"]["machine"] == name
    presence.report("")
    assert not OfferedMachine.objects.exists()


def test_a_file_that_stays_is_read_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MACHINE.write_text(json.dumps(machine()))
    presence = worker()
    presence.report("")
    stored = OfferedMachine.objects.get()
    monkeypatch.setattr(machine_offer, "own_machine", lambda: pytest.fail("the file has not changed"))
    presence.report("")
    OfferedMachine.objects.all().delete()  # as a restored database
    presence.report("")
    assert OfferedMachine.objects.get().cluster == stored.cluster


def test_what_the_database_did_not_take_is_written_the_next_time(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    presence = worker()
    offer(presence, settings, json.dumps(machine("first")))
    settings.MACHINE.write_text(json.dumps(machine("second")))
    with monkeypatch.context() as away:
        away.setattr(OfferedMachine.objects, "update_or_create", raise_database_error)
        with pytest.raises(DatabaseError):
            presence.report("")
    presence.report("")
    assert json.loads(OfferedMachine.objects.get().cluster)["calibration"]["machine"] == "second"


def raise_database_error(**_: object) -> None:
    raise DatabaseError("the disk is full")


def test_a_file_that_cannot_be_looked_at_is_named(client: Client, settings: Settings, tmp_path: Path) -> None:
    no_folder = tmp_path / "a-file"
    no_folder.write_text("")
    own, settings.MACHINE = settings.MACHINE, no_folder / "machine.json"
    worker().report("")
    settings.MACHINE = own
    assert "machine.json is not offered: [Errno 20] Not a directory" in machine_page(client)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("{", "machine.json is not offered: line 1, column 2: this is not JSON; allowed: one JSON value."),
        ("2xK80", "machine.json is not offered: it is no cluster that `calibrate` has written."),
    ],
)
def test_a_file_that_cannot_be_used_is_named_on_the_page(
    client: Client, ready_graph: Graph, settings: Settings, content: str, line: str
) -> None:
    offer(worker(), settings, content)
    page = machine_page(client)
    assert '<h3 class="name">gpu-1</h3>' in page and line in page
    assert CHOICE not in page_of(client, ready_graph)


def test_the_file_of_this_machine_is_offered_once(client: Client, ready_graph: Graph, settings: Settings) -> None:
    """Its workers may run under other names of the host, as in containers."""
    settings.MACHINE.write_text(json.dumps(MACHINE))
    worker("a-container").report("")
    worker(os.uname().nodename, "another").report("")
    page = page_of(client, ready_graph)
    assert "or <code>this-machine</code>" in page and page.count(", or <code>") == 1
    settings.MACHINE.unlink()
    page = page_of(client, ready_graph)
    assert page.count(", or <code>") == 1 and "or <code>Machine a-container</code>" in page


def test_of_two_workers_on_a_host_the_later_counts(settings: Settings) -> None:
    for identity in ("first", "second"):
        offer(worker(identity=identity), settings, json.dumps(machine(identity)))
    Worker.objects.filter(identity="second").update(seen_at=Now() - KEPT_AFTER_LAST_SIGN / 2)
    [found] = machine_offer.worker_machines(MeasuredMachine())
    assert found.machine.cluster is not None and found.machine.cluster.calibration is not None
    assert (found.host, found.machine.cluster.calibration.machine) == ("gpu-1", "first")


def test_the_machine_of_a_worker_that_vanished_goes_with_it(offered: Presence) -> None:
    Worker.objects.update(seen_at=Now() - 2 * KEPT_AFTER_LAST_SIGN)
    worker("elsewhere", "another").report("")
    assert not OfferedMachine.objects.exists()


def test_a_database_without_the_table_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    monkeypatch.setattr(worker_hooks, "reap", lambda _: 0)
    monkeypatch.setattr(connections, "close_all", lambda: None)  # the test's own would be lost
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workers_offeredmachine RENAME TO not_yet_made")
    settings.MACHINE.write_text(json.dumps(machine()))
    presence = worker()
    worker_hooks.do_round(presence)
    worker_hooks.leave(presence)
    assert caplog.records == []


@pytest.mark.django_db(transaction=True)
def test_a_worker_process_offers_its_own_from_start_to_stop(
    around: Surroundings, client: Client, ready_graph: Graph, tmp_path: Path
) -> None:
    path = tmp_path / "elsewhere.json"
    around.environment["PLACETO_MACHINE"] = str(path)
    around.start_redis()
    started = around.start_worker("gpu", "tests.webapp.other_host_worker", "tests.webapp.scripted_worker")
    assert CHOICE not in page_of(client, ready_graph)
    path.write_text(json.dumps(machine()))
    eventually(lambda: CHOICE in page_of(client, ready_graph), "it is offered")
    assert start(client, ready_graph).status_code == 302
    eventually(lambda: Run.objects.get().status == Run.DONE, "the run is done")
    started.signal(signal.SIGTERM)
    started.exit_status()
    eventually(lambda: CHOICE not in page_of(client, ready_graph), "it is offered no more")
