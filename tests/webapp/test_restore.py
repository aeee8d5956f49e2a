"""A restored backup is the application as it was; anything odd is refused in one line and changes nothing."""

import fcntl
import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils.timezone import now

from engine import api
from tests.webapp import older_installation as older
from webapp.backups.archive import ArchiveWriter, Manifest
from webapp.backups.backup import back_up, files_of_rows
from webapp.backups.failure import BackupError
from webapp.backups.restore import restore
from webapp.backups.rows import lines_of
from webapp.backups.schema import applied_migrations, name_of, tables_at
from webapp.graphs.models import Graph
from webapp.hooks.models import Delivery, Webhook
from webapp.jobs.claim import Claim
from webapp.jobs.models import Event, SavedState
from webapp.policies.models import Policy
from webapp.projects.models import Project
from webapp.runs.models import Run
from webapp.sharing.models import ShareLink
from webapp.stored_paths import stored_path
from webapp.workers.models import Worker
from webapp.workers.version import code_version, database_version

pytestmark = pytest.mark.usefixtures("transactional_db")

Change = Callable[[dict[str, bytes], dict[str, Any]], None]
"""changes the entries and the manifest of a backup"""


def all_rows() -> dict[str, list[bytes]]:
    """Table → its lines."""
    return {table._meta.label_lower: list(lines_of(table)) for table in tables_at(applied_migrations())}


def empty(data_folder: Path) -> None:
    """Lose everything."""
    call_command("flush", interactive=False, verbosity=0)
    for folder in ("graphs", "profiles"):
        shutil.rmtree(data_folder / folder, ignore_errors=True)


def expect_nothing(data_folder: Path) -> None:
    """Nothing was restored, not even in part."""
    assert not any(len(lines) > 1 for lines in all_rows().values())
    assert not [path for path in data_folder.rglob("*") if path.is_file()]
    assert not list(data_folder.glob("temporary/*"))


@pytest.fixture
def archive(run: Run, graph: Graph, tmp_path: Path) -> Path:
    """A backup of a project with a graph, its file, a run with events and a state, and a webhook with a delivery."""
    hook = Webhook.objects.create(project=run.project, name="Ours", target="https://hooks.example.org/", events=[])
    Delivery.objects.create(webhook=hook, event="run.finished", key="1", body="{}")
    Graph.objects.filter(id=graph.id).update(file_bytes=2)
    Event.objects.bulk_create(
        [Event(job_id=run.id, seq=seq, type="episode", data=f'{{"seq": {seq}}}') for seq in range(1, 501)]
    )
    SavedState.objects.create(job_id=run.id, seq=1, state=bytes(range(256)))
    path = tmp_path / "placeto.zip"
    back_up(path)
    return path


def altered(archive: Path, change: Change) -> Path:
    """A copy of the backup with other entries, whose manifest says what `change` makes it say."""
    with zipfile.ZipFile(archive) as opened:
        entries = {name: opened.read(name) for name in opened.namelist()}
    manifest = json.loads(entries.pop("manifest.json"))
    change(entries, manifest)
    path = archive.with_name("altered.zip")
    with zipfile.ZipFile(path, "w") as written:
        for name, content in entries.items():
            written.writestr(name, content)
        written.writestr("manifest.json", json.dumps(manifest))
    return path


def list_entry(entries: dict[str, bytes], manifest: dict[str, Any], name: str, content: bytes) -> None:
    """Add an entry of which the manifest says the truth."""
    entries[name] = content
    manifest["entries"][name] = [len(content), hashlib.sha256(content).hexdigest()]


def test_everything_is_as_it_was(archive: Path, data_folder: Path, graph: Graph) -> None:
    before = all_rows()
    highest = Event.objects.order_by("-id").values_list("id", flat=True)[0]
    empty(data_folder)
    report = restore(archive)
    assert all_rows() == before
    assert graph.source_path.read_text() == "{}"
    assert graph.source_path.stat().st_mode & 0o077 == 0
    assert (report.files, report.queued_again) == (1, 0)
    assert database_version() == code_version()
    later = Event.objects.create(job_id=graph.id, seq=1, type="episode", data="{}")
    assert later.id > highest


@pytest.mark.parametrize("source", Policy.SOURCES)
def test_a_policy_of_any_source_is_restored(source: str, data_folder: Path, tmp_path: Path) -> None:
    """Every installation has the release's policy."""
    policy = Policy.objects.create(name="shared", source=source, status=Policy.DONE)
    back_up(tmp_path / "placeto.zip")
    empty(data_folder)
    restore(tmp_path / "placeto.zip")
    assert Policy.objects.get().id == policy.id


def test_jobs_that_were_worked_on_are_queued_again(run: Run, data_folder: Path, tmp_path: Path) -> None:
    assert Claim.take(Run, run.id) is not None
    back_up(tmp_path / "placeto.zip")
    empty(data_folder)
    assert restore(tmp_path / "placeto.zip").queued_again == 1
    run.refresh_from_db()
    assert (run.status, run.claim, run.worker, run.attempts, run.fruitless_attempts) == (Run.QUEUED, None, "", 0, 0)


def test_a_backup_of_an_older_schema_is_brought_up_to_date(data_folder: Path, client: Client) -> None:
    report = restore(older.BACKUP)
    tables = {name_of(table): table for table in tables_at(applied_migrations())}
    assert {name: tables[name]._base_manager.count() for name in older.ROWS} == older.ROWS
    assert (report.rows, report.files, report.queued_again) == (sum(older.ROWS.values()), 5, 3)
    pages = [f"/projects/{project.id}/" for project in Project.objects.all()]
    pages += [f"/runs/{run.id}/" for run in Run.objects.all()]
    assert {client.get(page).status_code for page in pages} == {200}
    assert database_version() == code_version()


def test_only_an_empty_database_takes_it(archive: Path, data_folder: Path) -> None:
    before = all_rows()
    shutil.rmtree(data_folder / "graphs")
    with pytest.raises(BackupError, match=r"^the database has rows \(graphs_graph\): a restore needs an empty one$"):
        restore(archive)
    assert all_rows() == before


def test_only_an_empty_data_folder_takes_it(archive: Path, data_folder: Path) -> None:
    call_command("flush", interactive=False, verbosity=0)
    with pytest.raises(BackupError, match=r" has files in graphs/: a restore needs an empty one$"):
        restore(archive)


def test_a_running_application_refuses_it(archive: Path, data_folder: Path) -> None:
    empty(data_folder)
    handle = os.open(data_folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(BackupError, match=r"^the application runs on the data folder .*: stop it first$"):
            restore(archive)
    finally:
        os.close(handle)
    Worker.objects.create(
        identity="w", host="gpu1", pid=7, queues="gpu", version="1", schema="", started_at=now(), seen_at=now()
    )
    with pytest.raises(BackupError, match=r"^the application runs on this database \(worker gpu on gpu1, process 7\)"):
        restore(archive)
    expect_nothing(data_folder)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not a backup, or its end is missing"),
        (b"PK\x03\x04" + bytes(100), "is not a backup, or its end is missing"),
    ],
)
def test_what_is_no_zip_is_refused(data_folder: Path, tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "odd.zip"
    path.write_bytes(content)
    with pytest.raises(BackupError, match=sentence):
        restore(path)
    with pytest.raises(BackupError, match=r"^cannot read .*missing\.zip \(No such file or directory\)$"):
        restore(tmp_path / "missing.zip")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_cut_backup_is_refused(archive: Path, data_folder: Path, share: float) -> None:
    empty(data_folder)
    content = archive.read_bytes()
    archive.write_bytes(content[: int(share * len(content))])
    with pytest.raises(BackupError, match="is not a backup, or its end is missing"):
        restore(archive)
    expect_nothing(data_folder)


@pytest.mark.parametrize("place", range(1, 10))
def test_a_changed_byte_is_seen(archive: Path, data_folder: Path, place: int) -> None:
    empty(data_folder)
    content = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as opened:
        events = opened.getinfo("rows/jobs.event.jsonl")
        end = events.header_offset + events.compress_size
    content[end - 20 * place] ^= 0x40
    archive.write_bytes(content)
    with pytest.raises(BackupError, match="is damaged at rows/"):
        restore(archive)
    expect_nothing(data_folder)


def _slip(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    list_entry(entries, manifest, "files/graphs/../../../outside.pb", b"")


def _absolute(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    list_entry(entries, manifest, "/tmp/outside.pb", b"")


def _other_folder(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    list_entry(entries, manifest, "files/logs/web.log", b"")


def _unlisted(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    entries["files/graphs/" + 36 * "0" + ".pb"] = b""


def _larger(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    entries["rows/jobs.event.jsonl"] += bytes(10_000_000)


def _newer(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["migrations"].append(["jobs", "0099_of_tomorrow"])


def _too_old(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["migrations"] = [node for node in older.MIGRATIONS_OF_0_2_0 if node != ("graphs", "0006_counts")]


def _without_graphs(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["migrations"] = [node for node in manifest["migrations"] if node[0] == "projects"]


def _other_format(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["format"] = "holiday pictures"


def _later_format(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["format_version"] = 2


def _fewer_rows(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    whole = entries["rows/jobs.event.jsonl"].splitlines(keepends=True)
    list_entry(entries, manifest, "rows/jobs.event.jsonl", b"".join(whole[:-1]))


def _rows_without_parent(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    header = entries["rows/projects.project.jsonl"].splitlines(keepends=True)[0]
    list_entry(entries, manifest, "rows/projects.project.jsonl", header)
    manifest["rows"]["projects.project"] = 0


def _rows_that_are_none(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    list_entry(entries, manifest, "rows/jobs.savedstate.jsonl", b'["a"]\n[1]\n')


def with_value(label: str, column: str, value: Any) -> Change:
    """The backup with another value in the last row of a table."""

    def change(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
        name = f"rows/{label}.jsonl"
        *lines, last = entries[name].splitlines()
        row = json.loads(last)
        row[json.loads(lines[0]).index(column)] = DEEP if value is DEEP else value
        text = json.dumps(row).replace(json.dumps(DEEP), "[" * 100_000 + "]" * 100_000)
        list_entry(entries, manifest, name, b"\n".join([*lines, text.encode(), b""]))

    return change


DEEP = "a hundred thousand levels"
VALUES: list[tuple[str, str, Any, str]] = [
    ("runs.run", "status", "flying", "as status; allowed: one of queued, running, done, failed, cancelled"),
    ("graphs.graph", "status", "running", "as status; allowed: one of queued, reading, ready, failed, cancelled"),
    ("graphs.graph", "suffix", "/../x", r"has '/\.\./x' as suffix; allowed: one of \.pb, "),
    ("projects.project", "name", "x" * 1000, "as name; allowed: Ensure this value has at most 200 characters"),
    ("projects.project", "name", "\ud800", "as name; allowed: a text without half characters"),
    ("projects.project", "name", "a\0b", "as name; allowed: a text without NUL"),
    ("projects.project", "name", 7, "has 7 as name; allowed: a value of type CharField"),
    ("projects.project", "name", None, "has None as name; allowed: a value"),
    (
        "projects.project",
        "name",
        "x" * 1_000_000,
        r"has a row in rows/projects\.project\.jsonl that is too long; allowed: ",
    ),
    ("graphs.graph", "project_id", 7, r"rows of graphs\.graph are not what its manifest promises"),
    ("graphs.graph", "created_at", 7, r"rows of graphs\.graph are not what its manifest promises"),
    ("graphs.graph", "options", DEEP, r"rows of graphs\.graph are not what its manifest promises"),
    ("runs.run", "evaluations", 2**63, "as evaluations; allowed: Ensure this value is less than or equal to"),
    ("runs.run", "evaluations", True, "has True as evaluations; allowed: a value of type BigIntegerField"),
    ("runs.run", "seconds", float("nan"), "has nan as seconds; allowed: a finite number"),
    ("runs.run", "drop_devices", 2, "has 2 as drop_devices; allowed: a value of type BooleanField"),
    ("hooks.webhook", "kind", "smoke", "as kind; allowed: one of webhook, apprise"),
    ("hooks.delivery", "event", "x\r\nX-Evil: 1", "as event; allowed: an event of webhooks"),
    ("hooks.delivery", "body", "[]", "as body; allowed: the text of a JSON object"),
    ("hooks.delivery", "status", "running", "as status; allowed: one of queued, sending, delivered, failed, cancelled"),
    ("jobs.event", "data", "</script>", "as data; allowed: the text of a JSON object"),
    ("jobs.savedstate", "state", "no base64!", r"rows of jobs\.savedstate are not what its manifest promises"),
]


def test_values_that_no_form_and_no_job_stores_are_refused(archive: Path, data_folder: Path) -> None:
    empty(data_folder)
    for label, column, value, sentence in VALUES:
        with pytest.raises(BackupError, match=sentence):
            restore(altered(archive, with_value(label, column, value)))
    expect_nothing(data_folder)


def _file_of_no_row(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    list_entry(entries, manifest, "files/graphs/" + 36 * "0" + ".pb", b"")


def _row_without_its_file(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    [name] = [name for name in entries if name.startswith("files/")]
    del entries[name], manifest["entries"][name]


def test_files_that_the_original_lacked_are_counted(
    archive: Path, data_folder: Path, graph: Graph, tmp_path: Path
) -> None:
    graph.source_path.unlink()
    back_up(tmp_path / "without.zip")
    empty(data_folder)
    report = restore(tmp_path / "without.zip")
    assert (report.files, report.missing_files) == (0, 1)


@pytest.mark.parametrize("name", ["../x", "a/b", "", "..", "a\0b"])
def test_no_path_leads_out_of_the_data_folder(name: str, data_folder: Path) -> None:
    with pytest.raises(api.GraphError, match="the name of its stored file is unsafe"):
        stored_path("graphs", name)
    assert stored_path("graphs", "..a") == data_folder / "graphs" / "..a"
    with pytest.raises(api.GraphError):
        Graph(suffix="/../x").paths  # noqa: B018  it is made when it is asked for


REFUSED: list[tuple[Change, str]] = [
    (_file_of_no_row, r"^the backup is damaged: it has a file of no row, files/graphs/0{36}\.pb$"),
    (_row_without_its_file, r"^the backup is damaged: it lacks a file of a row, files/graphs/[0-9a-f-]{36}\.json$"),
    (_slip, r"has an entry that no backup has: 'files/graphs/\.\./"),
    (_absolute, r"has an entry that no backup has: '/tmp/outside\.pb'"),
    (_other_folder, r"has an entry that no backup has: 'files/logs/web\.log'"),
    (_unlisted, "is damaged: its entries are not those of its manifest"),
    (_larger, r"is damaged at rows/jobs\.event\.jsonl: use another backup"),
    (_newer, r"^the backup is of a newer version \(jobs\.0099_of_tomorrow\): use that version or a later one$"),
    (
        _too_old,
        r"^the backup is too old for this version \(it lacks graphs\.0006_counts\): "
        r"take it to version 0\.2\.0 first, with the code of commit 3dd8061d, as docs/upgrade\.md says$",
    ),
    (_without_graphs, r"^the backup is damaged: its tables are not those of its migrations$"),
    (_other_format, "is not a backup: its format is 'holiday pictures'"),
    (_later_format, "is of format version '2'; this version reads 1"),
    (_fewer_rows, r"its rows of jobs\.event are not all there"),
    (_rows_without_parent, "is damaged: its rows do not belong together"),
    (_rows_that_are_none, r"rows of jobs\.savedstate are not what its manifest promises"),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED, ids=[change.__name__[1:] for change, _ in REFUSED])
def test_an_altered_backup_is_refused(archive: Path, data_folder: Path, change: Change, sentence: str) -> None:
    empty(data_folder)
    with pytest.raises(BackupError, match=sentence):
        restore(altered(archive, change))
    expect_nothing(data_folder)


def test_too_little_space_is_seen_first(data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.zip"
    with ArchiveWriter(path) as writer:
        writer.write("files/graphs/" + 36 * "0" + ".pb", [bytes(1000)])
        writer.finish(Manifest("0.2.0", applied_migrations(), ""))
    usage = shutil.disk_usage(tmp_path)._replace(free=999)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(BackupError, match=r"^the files of the backup take 1000 bytes; .* has less space$"):
        restore(path)
    expect_nothing(data_folder)


def test_it_can_leave_the_schema_to_older_code(data_folder: Path, tmp_path: Path) -> None:
    """Version 0.2.0 finds its own migrations and the columns that it knows."""
    before = MigrationRecorder(connection).applied_migrations().keys()
    older.write_database(tmp_path / "older.sqlite3")
    try:
        restore(older.BACKUP, keep_schema=True)
        recorded = MigrationRecorder(connection).applied_migrations().keys()
        assert recorded == set(older.MIGRATIONS_OF_0_2_0)
        for name, table in older.tables_in(tmp_path / "older.sqlite3").items():
            with connection.cursor() as cursor:
                columns = [column.name for column in connection.introspection.get_table_description(cursor, name)]
            assert sorted(columns) == sorted(table.columns), name
    finally:
        call_command("migrate", verbosity=0)
    assert MigrationRecorder(connection).applied_migrations().keys() == before


def _without_links(entries: dict[str, bytes], manifest: dict[str, Any]) -> None:
    """As of a version that had no app of links."""
    manifest["migrations"] = [node for node in manifest["migrations"] if node[0] != "sharing"]
    name = "sharing.sharelink"
    del manifest["rows"][name], manifest["entries"][f"rows/{name}.jsonl"], entries[f"rows/{name}.jsonl"]


def test_an_app_that_the_older_version_had_not_has_no_tables_there(archive: Path, data_folder: Path) -> None:
    empty(data_folder)
    older_archive = altered(archive, _without_links)
    try:
        restore(older_archive, keep_schema=True)
        assert ShareLink._meta.db_table not in connection.introspection.table_names()
        assert not any(app == "sharing" for app, _ in applied_migrations())
    finally:
        call_command("migrate", verbosity=0)
    assert ShareLink._meta.db_table in connection.introspection.table_names()
    assert database_version() == code_version()


def test_without_tables_of_graphs_and_profiles_there_are_no_files() -> None:
    assert list(files_of_rows([Project])) == []


def test_own_backups_leave_their_schema_too(archive: Path, data_folder: Path) -> None:
    empty(data_folder)
    before = MigrationRecorder(connection).applied_migrations().keys()
    restore(archive, keep_schema=True)
    assert MigrationRecorder(connection).applied_migrations().keys() == before
    call_command("migrate", check_unapplied=True, verbosity=0)
