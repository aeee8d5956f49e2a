"""A backup holds one state of rows and files, while others write; what fails leaves nothing."""

import errno
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from webapp.backups import backup, rows
from webapp.backups.archive import ArchiveWriter
from webapp.backups.backup import back_up
from webapp.backups.failure import BackupError
from webapp.backups.models import BackupRecord
from webapp.graphs.models import Graph
from webapp.jobs.deletion import delete as delete_row
from webapp.jobs.models import Event
from webapp.measuring.models import Profile
from webapp.projects.models import Project
from webapp.runs.models import Run

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Where the backup is to lie, in a folder of its own."""
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder / "placeto.zip"


@pytest.fixture
def stored_graph(graph: Graph) -> Graph:
    """A graph whose row says that it has a file."""
    Graph.objects.filter(id=graph.id).update(file_bytes=2)
    return graph


def elsewhere(work: Callable[[], object]) -> None:
    """Do `work` on a connection of its own, and wait for it."""
    faults: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            faults.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert faults == []


def rows_in(archive: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table, as an independent reader sees them."""
    with zipfile.ZipFile(archive) as opened:
        header, *lines = opened.read(f"rows/{table}.jsonl").decode().splitlines()
    return [dict(zip(json.loads(header), json.loads(line), strict=True)) for line in lines]


def files_in(archive: Path) -> dict[str, bytes]:
    """Name → content."""
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist() if name.startswith("files/")}


def delete(graph: Graph) -> None:
    """As the application does: the row first, then the file."""
    Project.objects.filter(id=graph.project_id).delete()
    graph.source_path.unlink()


def test_it_holds_rows_and_files(run: Run, stored_graph: Graph, archive: Path) -> None:
    Event.objects.create(job_id=run.id, seq=1, type="episode", data='{"text": "\\u00e4"}')
    profile = Profile.objects.create(graph=stored_graph, status=Profile.DONE)
    profile.times_path.parent.mkdir()
    profile.times_path.write_bytes(b"times")
    stored_graph.times_path.write_bytes(b"given times")
    (stored_graph.source_path.parent / "left-behind").write_bytes(b"")
    report = back_up(archive)
    assert [row["name"] for row in rows_in(archive, "projects.project")] == ["Placements"]
    assert [row["data"] for row in rows_in(archive, "jobs.event")] == ['{"text": "\\u00e4"}']
    assert [row["graph_id"] for row in rows_in(archive, "runs.run")] == [str(stored_graph.id)]
    assert files_in(archive) == {
        f"files/graphs/{stored_graph.id}.json": b"{}",
        f"files/graphs/{stored_graph.id}.times": b"given times",
        f"files/profiles/{profile.id}.pb": b"times",
    }
    assert (report.files, report.missing, report.archive_bytes) == (3, [], archive.stat().st_size)
    assert archive.stat().st_mode & 0o077 == 0
    assert list(archive.parent.iterdir()) == [archive]


def test_it_leaves_out_what_belongs_to_this_installation(run: Run, archive: Path) -> None:
    back_up(archive)
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
    assert not [name for name in names if name.startswith(("rows/workers.", "rows/backups.", "rows/jobs.healthmark"))]
    assert "secret_key" not in "".join(names)


def test_others_write_meanwhile_and_it_keeps_the_state_of_its_start(
    run: Run, stored_graph: Graph, archive: Path, monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    once = [lambda: delete(stored_graph), lambda: Project.objects.create(name="later")]

    def lines_and_changes(table: Any) -> Iterator[bytes]:
        while once:
            elsewhere(once.pop())
        return rows.lines_of(table)

    monkeypatch.setattr(backup, "lines_of", lines_and_changes)
    report = back_up(archive)
    assert [project.name for project in Project.objects.all()] == ["later"]
    assert [row["name"] for row in rows_in(archive, "projects.project")] == ["Placements"]
    assert len(rows_in(archive, "runs.run")) == 1
    assert files_in(archive) == {f"files/graphs/{stored_graph.id}.json": b"{}"}
    assert report.missing == []
    assert not list(data_folder.glob("temporary/*"))


def test_a_file_that_goes_before_it_is_linked_goes_with_its_row(
    stored_graph: Graph, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link_files = backup._link_files
    once = [lambda: delete(stored_graph)]

    def delete_and_link(tables: Any, links: Path) -> set[Path]:
        while once:
            elsewhere(once.pop())
        return link_files(tables, links)

    monkeypatch.setattr(backup, "_link_files", delete_and_link)
    report = back_up(archive)
    assert rows_in(archive, "graphs.graph") == []
    assert (files_in(archive), report.missing) == ({}, [])


def test_what_waits_for_its_purge_is_kept(stored_graph: Graph, archive: Path) -> None:
    """Its rows still belong to each other; the purge goes on after a restore."""
    delete_row(stored_graph.project)
    back_up(archive)
    [row] = rows_in(archive, "projects.project")
    assert row["deleted_at"] is not None
    assert len(rows_in(archive, "graphs.graph")) == 1


def test_a_missing_file_is_reported(stored_graph: Graph, archive: Path) -> None:
    stored_graph.source_path.unlink()
    report = back_up(archive)
    assert report.missing == [stored_graph.source_path]
    assert len(rows_in(archive, "graphs.graph")) == 1


def test_the_command_says_what_it_has_done(stored_graph: Graph, archive: Path) -> None:
    out = StringIO()
    call_command("backup", str(archive), stdout=out)
    assert out.getvalue() == f"{archive}: 2 rows, 1 files, {archive.stat().st_size} bytes\n"


def test_success_and_failure_are_noted(stored_graph: Graph, archive: Path) -> None:
    back_up(archive)
    record = BackupRecord.objects.get()
    assert (record.archive_bytes, record.fault, record.failed_at) == (archive.stat().st_size, "", None)
    assert record.succeeded_at is not None
    with pytest.raises(CommandError, match=r"placeto\.zip exists: name another file$"):
        call_command("backup", str(archive))
    record.refresh_from_db()
    assert record.fault == f"{archive} exists: name another file"
    assert record.failed_at is not None


def test_a_folder_that_is_not_there_is_refused(archive: Path) -> None:
    with pytest.raises(BackupError, match=r"^there is no folder .*/missing$"):
        back_up(archive.parent / "missing" / "placeto.zip")


@pytest.mark.parametrize("place", ["write", "finish"])
def test_a_full_disk_leaves_nothing(
    stored_graph: Graph, archive: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ArchiveWriter, place, full)
    with pytest.raises(BackupError, match=r"^the disk is full; nothing was written$"):
        back_up(archive)
    assert not list(archive.parent.iterdir())
    assert not list(data_folder.glob("temporary/*"))
    assert BackupRecord.objects.get().fault == "the disk is full; nothing was written"


def test_a_stop_leaves_nothing_and_is_noted(
    stored_graph: Graph, archive: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_table: Any) -> Iterator[bytes]:
        raise SystemExit(1)

    monkeypatch.setattr(backup, "lines_of", stop)
    with pytest.raises(SystemExit):
        back_up(archive)
    assert not list(archive.parent.iterdir())
    assert not list(data_folder.glob("temporary/*"))
    assert BackupRecord.objects.get().fault == "it was stopped"
