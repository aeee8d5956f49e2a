"""A person has the machine calibrated by a worker."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from engine import api
from tests.webapp.conftest import MemoryBroker
from tests.webapp.machine_file import MACHINE
from tests.webapp.states import state_of
from webapp.graphs.models import Graph
from webapp.jobs import heartbeat
from webapp.measuring.calibrating import calibrate_machine
from webapp.measuring.models import Calibration

pytestmark = pytest.mark.usefixtures("transactional_db")

JSON = {"accept": "application/json"}
CLUSTER = api.parse_cluster(json.dumps(MACHINE))
BUSY = "calibrate: the machine was busy; allowed: at most 20 %, on an idle machine"


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))


def test_a_busy_machine_is_refused_at_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (900.0, 0.0, 0.0))
    answer = client.post("/calibrations/", headers=JSON)
    assert answer.status_code == 409
    assert answer.json()["errors"][""][0].startswith("calibrate: the machine is busy with other work: a load of 900.0")
    assert not Calibration.objects.exists()


Calibrating = Callable[..., api.Cluster]


def page_of(client: Client) -> str:
    return client.get("/machine/").content.decode()


def carry_out(monkeypatch: pytest.MonkeyPatch, calibrating: Calibrating = lambda *_, **__: CLUSTER) -> Calibration:
    """Let the worker do one that waits."""
    waiting = Calibration.objects.filter(status=Calibration.QUEUED).first() or Calibration.objects.create()
    monkeypatch.setattr(api, "calibrate", calibrating)
    calibrate_machine(waiting.id)
    return Calibration.objects.get(id=waiting.id)


def refuse(*_: object, **__: object) -> api.Cluster:
    raise api.SettingsError("the machine was busy", where="calibrate", allowed="at most 20 %, on an idle machine")


def test_it_is_queued_once_and_then_offered_in_forms(
    client: Client, ready_graph: Graph, broker: MemoryBroker, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph_page = f"/graphs/{ready_graph.id}/"
    assert "has not been measured" in page_of(client)
    assert '<a href="/machine/">Calibrate this machine</a>' in client.get(graph_page).content.decode()
    assert client.post("/calibrations/").headers["Location"] == "/machine/"
    calibration = Calibration.objects.get()
    assert broker.messages("execute") == [["execute"]]
    assert state_of(client, "calibration", calibration.id)["status"] == "queued"
    assert f'data-job-id="{calibration.id.hex}"' in page_of(client)
    answer = client.post("/calibrations/", headers=JSON)
    assert (answer.status_code, Calibration.objects.count()) == (409, 1)
    assert answer.json() == {"errors": {"": ["This machine is already being calibrated."]}}

    done = carry_out(monkeypatch)
    assert (done.status, done.error, done.stage) == (Calibration.DONE, "", "")
    assert json.loads(settings.MACHINE.read_text()) == done.result == api.cluster_to_json(CLUSTER)
    assert list(settings.MACHINE.parent.glob(".machine*")) == []
    page = page_of(client)
    assert "2 × a processor</strong>, measured on 2026-01-31." in page
    assert "Latency of a transfer" in page and "<strong>200</strong>" in page and "(190 to 210)" in page
    assert "or <code>this-machine</code>" in client.get(graph_page).content.decode()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(28_248.76, "28,200"), (181.298, "181"), (99.96, "100"), (0.133599, "0.134"), (-0.29, "−0.29"), (0.0, "0")],
)
def test_figures_have_three_digits(value: float, shown: str, client: Client, settings: Settings) -> None:
    figure = {"value": value, "low": value, "high": value, "how": "µs"}
    calibration = {**MACHINE["calibration"], "figures": {"latency_us": figure}}
    settings.MACHINE.write_text(json.dumps({**MACHINE, "calibration": calibration}))
    assert f'<strong>{shown}</strong> <span class="muted">({shown} to {shown})</span>' in page_of(client)


def test_a_busy_machine_keeps_its_file_and_the_page_has_the_sentence(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MACHINE.write_text(json.dumps(MACHINE))
    failed = carry_out(monkeypatch, refuse)
    assert (failed.status, failed.error) == (Calibration.FAILED, BUSY)
    assert json.loads(settings.MACHINE.read_text()) == MACHINE
    assert BUSY in page_of(client)


def test_one_that_runs_ends_at_its_next_pulse(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)
    calibration = Calibration.objects.create()

    def calibrating(report_progress: api.ReportProgress, *, pulse: Callable[[], None]) -> api.Cluster:
        report_progress("measuring", 3, 12)
        assert state_of(client, "calibration", calibration.id)["done"] == 3
        assert client.post(f"/calibrations/{calibration.id}/cancel/").status_code == 302
        assert "Cancelling" in page_of(client)
        while True:
            pulse()

    assert carry_out(monkeypatch, calibrating).status == Calibration.CANCELLED
    assert client.post(f"/calibrations/{calibration.id}/cancel/", headers=JSON).status_code == 409
    assert "Cancelled" in page_of(client)


def test_a_place_that_cannot_be_written_is_refused_in_one_line(
    client: Client, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MACHINE = tmp_path / "missing" / "machine.json"
    line = (
        f"PLACETO_MACHINE: {settings.MACHINE} cannot be written; allowed: a file, in a folder that the worker may write"
    )
    answer: Any = client.post("/calibrations/", headers=JSON)
    assert (answer.status_code, answer.json()) == (409, {"errors": {"": [line]}})
    page = page_of(client)
    assert line in page and 'action="/calibrations/"' not in page
    failed = carry_out(monkeypatch, lambda *_, **__: pytest.fail("it would measure for nothing"))
    assert (failed.status, failed.error) == (Calibration.FAILED, line)


def test_a_file_elsewhere_is_written(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MACHINE = tmp_path / "elsewhere.json"
    assert carry_out(monkeypatch).is_done
    assert json.loads(settings.MACHINE.read_text())["calibration"]["machine"] == "2 × a processor"


def test_what_does_not_exist_is_reported(client: Client) -> None:
    assert client.post(f"/calibrations/{uuid.uuid4()}/cancel/", headers=JSON).status_code == 404
    assert client.get("/calibrations/").status_code == 405
