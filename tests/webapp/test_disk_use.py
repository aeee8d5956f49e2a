"""What the data take on the disk, by kind."""

from pathlib import Path

import pytest
from django.db import connection

from webapp.disk_use import disk_use


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
