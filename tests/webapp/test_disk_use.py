"""What the data take on the disk, by kind."""

from pathlib import Path

import pytest
from django.db import connection
from django.test import Client

from engine import api
from tests.webapp.run_rows import compared
from webapp.disk_use import disk_use
from webapp.graphs.models import Graph
from webapp.jobs.claim import Claim
from webapp.jobs.models import Event, bytes_of_events
from webapp.policies.models import Policy
from webapp.runs.models import Run
from webapp.runs.run_store import RunStore


def test_files_count_by_their_folder(data_folder: Path) -> None:
    sizes = {"graphs/a.pb": 10, "graphs/a.times": 5, "incoming/b": 3, "profiles/c.pb": 20, "logs/web.log": 40}
    sizes |= {"families/nmt/d": 80}
    for name, size in sizes.items():
        (data_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (data_folder / name).write_bytes(bytes(size))
    use = disk_use()
    assert (use.graphs_bytes, use.profiles_bytes, use.logs_bytes, use.families_bytes) == (18, 20, 40, 80)
    assert use.used_bytes == use.database_bytes + 158
    assert use.free_bytes > 0


def test_the_database_counts_whatever_its_kind(data_folder: Path) -> None:
    assert disk_use().database_bytes > 0


def test_a_job_knows_about_what_its_events_take(run: Run) -> None:
    claim = Claim.take(Run, run.id)
    assert claim is not None
    store = RunStore(claim, run)
    for number in range(1, 4):
        store.emit(api.NumberedEvent(number, api.Episode(number, 5.0, True, 5.0, number, 0.1, [0, 1] * 100)))
        store.write()
    run.refresh_from_db()
    assert run.event_bytes == bytes_of_events(Event.objects.filter(job_id=run.id)) > 3 * 400


@pytest.mark.parametrize("kind", ["run", "comparison", "graph", "project", "policy"])
def test_a_deletion_says_about_what_goes(client: Client, ready_graph: Graph, kind: str) -> None:
    Graph.objects.filter(id=ready_graph.id).update(file_bytes=5000)
    comparison = compared(ready_graph, 2)
    Run.objects.update(event_bytes=300)
    policy = Policy.objects.create(name="Mine", status=Policy.DONE, file_bytes=20_000, event_bytes=30)
    addresses = {
        "run": (f"/runs/{Run.objects.all()[0].id}/", 300),
        "comparison": (f"/comparisons/{comparison.id}/", 600),
        "graph": (f"/graphs/{ready_graph.id}/", 5600),
        "project": (f"/projects/{ready_graph.project_id}/", 5600),
        "policy": (f"/policies/{policy.id}/", 20_030),
    }
    address, expected = addresses[kind]
    assert f'about <span data-bytes="{expected}">' in client.get(f"{address}delete/").content.decode()
    lists = client.get(f"/projects/{ready_graph.project_id}/").content.decode()
    lists += client.get("/projects/").content.decode() + client.get("/policies/").content.decode()
    if kind != "run":
        assert f'<td class="number"><span data-bytes="{expected}">' in lists


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite keeps freed pages in its own file")
def test_what_deleted_rows_left_can_be_used_again(data_folder: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE large (content BLOB)")
        cursor.execute("INSERT INTO large VALUES (zeroblob(1000000))")
        before = disk_use().reusable_bytes
        cursor.execute("DROP TABLE large")
    assert disk_use().reusable_bytes >= before + 1_000_000


def test_a_new_folder_has_no_files(data_folder: Path) -> None:
    use = disk_use()
    assert use.used_bytes == use.database_bytes
