"""A backup of one kind of database is restored into the other."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.chaos.services import MissingServiceError, PostgreSQL
from tests.supervisor.started import ROOT
from tests.webapp.older_installation import BACKUP
from webapp.backups.backup import back_up
from webapp.backups.restore import restore


@pytest.fixture
def postgresql(tmp_path: Path) -> Iterator[PostgreSQL]:
    """A new PostgreSQL with an empty database."""
    try:
        server = PostgreSQL(tmp_path)
    except MissingServiceError as error:
        pytest.skip(str(error))
    try:
        server.start()
        server.create_database()
        yield server
    finally:
        server.remove()


BOTH = """
import sys, django
from django.core.management import call_command
django.setup()
call_command("restore", sys.argv[1])
call_command("backup", sys.argv[2])
"""


def restore_and_back_up(server: PostgreSQL, data_folder: Path, archive: Path, again: Path) -> None:
    """Both commands on that folder and that database."""
    own = {"PLACETO_DATA": str(data_folder), "DATABASE_URL": server.url, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
    command = [sys.executable, "-c", BOTH, str(archive), str(again)]
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def contents(archive: Path) -> dict[str, bytes]:
    """Every entry but the manifest, which has the time of the backup."""
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist() if name != "manifest.json"}


def test_a_backup_goes_from_one_to_the_other_and_back(
    postgresql: PostgreSQL, tmp_path: Path, transactional_db: None
) -> None:
    of_postgresql, of_sqlite = tmp_path / "postgresql.zip", tmp_path / "sqlite.zip"
    restore_and_back_up(postgresql, tmp_path / "other", BACKUP, of_postgresql)
    restore(of_postgresql)
    back_up(of_sqlite)
    assert contents(of_postgresql) == contents(of_sqlite)
    with psycopg.connect(postgresql.url) as connection:
        highest, following = connection.execute(
            "SELECT MAX(id), nextval(pg_get_serial_sequence('jobs_event', 'id')) FROM jobs_event"
        ).fetchone() or (0, 0)
    assert following == highest + 1 > 1
