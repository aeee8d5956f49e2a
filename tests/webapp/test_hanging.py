"""What hangs is noticed: a process that does nothing is ended, and the status page says so."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from webapp.hanging import Watched
from webapp.incidents import FILE, MOST_KEPT, note_incident, recent_incidents
from webapp.jobs import working_processes
from webapp.jobs.working_processes import WorkingProcesses

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what processes do")


@pytest.fixture
def shell() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does a little all the time."""
    with subprocess.Popen(["/bin/sh", "-c", "while :; do sleep 0.05; done"]) as process:
        yield process
        process.kill()


def test_a_process_that_does_a_little_does_not_hang_and_a_stopped_one_does(shell: subprocess.Popen[bytes]) -> None:
    watched = Watched(shell.pid, 0.0)
    for second in range(1, 4):
        time.sleep(0.2)
        assert watched.idle_seconds(second, 1.0) == 0.0
    os.kill(shell.pid, signal.SIGSTOP)
    time.sleep(0.2)
    watched.idle_seconds(4.0, 1.0)
    assert [watched.idle_seconds(second, 1.0) for second in (5.0, 6.0)] == [1.0, 2.0]
    assert watched.idle_seconds(60.0, 1.0) == 0.0, "whoever looks was held up too"


def test_a_process_of_the_pool_that_hangs_is_ended_and_noted(
    shell: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_FOLDER, settings.STALE_AFTER_SECONDS = tmp_path, 0.3
    monkeypatch.setattr(working_processes, "_ids_of_working", lambda: {shell.pid})
    working = WorkingProcesses()
    os.kill(shell.pid, signal.SIGSTOP)
    deadline = time.monotonic() + 30
    while shell.poll() is None and time.monotonic() < deadline:
        working.end_hanging()
        time.sleep(0.1)
    assert shell.poll() == -signal.SIGKILL
    [incident] = recent_incidents(tmp_path)
    assert incident.sentence.startswith(f"process {shell.pid} of a worker hung: it did nothing for ")


@pytest.mark.django_db
def test_the_status_page_warns_for_a_day(
    client: Client, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.pages.status.warnings.part_faults", lambda: dict[str, str]())
    settings.DATA_FOLDER = tmp_path
    note_incident(tmp_path, "web hung: it did nothing for 31 s and was ended")
    warnings = client.get("/status/", headers={"accept": "application/json"}).json()["warnings"]
    assert "Web hung: it did nothing for 31 s and was ended, 0\xa0minutes ago." in warnings
    monkeypatch.setattr("webapp.incidents.SHOWN_FOR_SECONDS", 0.0)
    assert recent_incidents(tmp_path) == []


def test_a_line_that_is_no_note_hides_no_other(tmp_path: Path) -> None:
    note_incident(tmp_path, "one")
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"at": 17\n[]\n{"at": "now", "sentence": 1}\n{"at": 1e300, "sentence": ""}\n\xff\n')
    note_incident(tmp_path, "two")
    assert [incident.sentence for incident in recent_incidents(tmp_path)] == ["two", "one"]
    assert not list(tmp_path.glob("*.partial"))


def test_old_notes_make_room(tmp_path: Path) -> None:
    for number in range(MOST_KEPT + 5):
        note_incident(tmp_path, f"{number}")
    assert [incident.sentence for incident in recent_incidents(tmp_path)][::99] == ["104", "5"]
