"""What deleted rows leave in SQLite's file goes back to the disk, in small steps."""

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from tests.supervisor.started import ROOT
from webapp.database_address import database
from webapp.jobs import free_pages
from webapp.jobs.free_pages import give_back_free_pages

pytestmark = pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has its own vacuum")


def free() -> int:
    """Pages that can be used again."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA freelist_count")
        return int(cursor.fetchone()[0])


@pytest.fixture
def freed(monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of free pages after a large deletion."""
    monkeypatch.setattr(free_pages, "KEPT_PAGES", 10)
    monkeypatch.setattr(free_pages, "PAGES_A_STEP", 100)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE large (content BLOB)")
        cursor.execute("INSERT INTO large VALUES (zeroblob(1000000))")
        cursor.execute("DROP TABLE large")
    return free()


def test_they_go_in_steps_and_a_few_stay(freed: int) -> None:
    assert freed > 200
    left = [freed]
    while give_back_free_pages():
        left.append(free())
    assert [before - after for before, after in pairwise(left)] == [100] * (len(left) - 2) + [(freed - 10) % 100]
    assert left[-1] == 10


@pytest.mark.slow
def test_a_new_database_gives_its_free_pages_back(tmp_path: Path) -> None:
    environment = {**os.environ, "PLACETO_DATA": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path}/new.sqlite3"}
    migrate = [sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"]
    subprocess.run(migrate, cwd=ROOT, env=environment, check=True, timeout=60)
    with closing(sqlite3.connect(tmp_path / "new.sqlite3")) as new:
        assert new.execute("PRAGMA auto_vacuum").fetchone() == (free_pages.INCREMENTAL,)
        assert new.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_new_connection_waits_for_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "locked.sqlite3"
    options = database(f"sqlite:///{path}")["OPTIONS"]
    with closing(sqlite3.connect(path, isolation_level=None)) as first, closing(sqlite3.connect(path, 0.0)) as second:
        first.execute("PRAGMA auto_vacuum=INCREMENTAL")
        first.execute("PRAGMA journal_mode=WAL")
        first.execute("CREATE TABLE a (b)")
        first.execute("BEGIN EXCLUSIVE")
        for command in options["init_command"].split(";"):
            second.execute(command)
        assert second.execute("SELECT count(*) FROM a").fetchone() == (0,)


@pytest.mark.usefixtures("transactional_db")
def test_an_older_file_is_rewritten_by_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA auto_vacuum=NONE")
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA auto_vacuum")
        assert cursor.fetchone() == (0,)
        cursor.execute("CREATE TABLE large (content BLOB)")
        cursor.execute("INSERT INTO large VALUES (zeroblob(1000000))")
        cursor.execute("DROP TABLE large")
    assert not give_back_free_pages()
    call_command("vacuum")
    before, after = (int(number) for number in re.findall(r"\d+", capsys.readouterr().out))
    assert before >= after + 900_000
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA auto_vacuum")
        assert cursor.fetchone() == (free_pages.INCREMENTAL,)
    assert free() == 0
