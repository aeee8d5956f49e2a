"""The data folder is its owner's alone."""

import os
import stat
from pathlib import Path

import pytest

from webapp.supervisor.data_folder import DataFolder, is_used, marked_process
from webapp.supervisor.failure import StartError


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_others_could_read_is_taken_from_them(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "logs").mkdir(parents=True)
    files = [folder / "placeto.sqlite3", folder / "placeto.sqlite3-wal", folder / "logs" / "web.log"]
    for file in files:
        file.touch()
        file.chmod(0o644)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    (folder / "graphs").symlink_to(elsewhere)
    foreign = folder / "notes.txt"
    foreign.touch()
    for path in (folder, folder / "logs", elsewhere):
        path.chmod(0o755)
    foreign.chmod(0o644)
    opened = DataFolder(folder)
    assert opened.tightened == 5
    assert [mode_of(path) for path in files] == [0o600] * 3
    assert [mode_of(path) for path in (folder, folder / "logs")] == [0o700] * 2
    assert (mode_of(elsewhere), mode_of(foreign)) == (0o755, 0o644), "neither a link's target nor a file of others"
    opened.close()
    again = DataFolder(folder)
    assert again.tightened == 0
    again.close()


def test_a_folder_that_is_made_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = DataFolder(tmp_path / "data")
    finally:
        os.umask(before)
    assert (mode_of(folder.path), mode_of(folder.logs), folder.tightened) == (0o700, 0o700, 0)
    folder.close()


def test_an_application_that_ends_is_waited_for(tmp_path: Path) -> None:
    ending = DataFolder(tmp_path)
    ending.mark(os.getpid())
    ending.unmark()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        ending.close()

    DataFolder(tmp_path, say).close()
    assert lines == [f"waiting for the end of the application on the data folder {tmp_path}"]


def test_an_application_that_runs_is_not(tmp_path: Path) -> None:
    running = DataFolder(tmp_path)
    running.mark(os.getpid())
    with pytest.raises(StartError, match="already runs"):
        DataFolder(tmp_path)
    assert is_used(tmp_path)
    assert marked_process(tmp_path) == os.getpid()
    running.close()  # as when it is killed
    assert not is_used(tmp_path)
    DataFolder(tmp_path).close()
    assert marked_process(tmp_path) is None
    assert not is_used(tmp_path / "missing")
