"""Temporary files of killed processes are removed by the next start, those of living ones are not."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webapp.processes import Surroundings
from webapp.backups.archive import ArchiveWriter
from webapp.temporary_files import temporary_folder

PROCESS = """
import multiprocessing.util, os, subprocess, sys, tempfile, time
from django.conf import settings
settings.configure(DATA_FOLDER=sys.argv[1])
from webapp.temporary_files import use_own_folder
use_own_folder()
tempfile.mkdtemp(prefix="placeto-")
multiprocessing.util.get_temp_dir()  # which the library removes at exit
forked = os.fork()
if forked:
    child = "import tempfile; tempfile.mkdtemp(prefix='of-a-child-')"
    subprocess.run([sys.executable, "-c", child], check=True)
    print(forked, flush=True)
    sys.stdin.readline()
else:
    os.close(0)
    time.sleep(600)
"""


@pytest.fixture
def folder(data_folder: Path) -> Path:
    return data_folder / "temporary"


@pytest.fixture
def process(data_folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process with temporary files, which has forked another."""
    started = subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(data_folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield started
    started.kill()
    started.wait()
    for stream in (started.stdin, started.stdout, started.stderr):
        assert stream is not None
        stream.close()


def names(folder: Path) -> list[str]:
    return sorted(path.name.rpartition("-")[0] for path in folder.glob("*/*"))


def next_start(folder: Path) -> list[str]:
    """What is left after another process has begun and ended well."""
    with temporary_folder():
        pass
    return names(folder)


@pytest.mark.slow
def test_a_start_removes_what_killed_processes_left(folder: Path, process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    forked = int(process.stdout.readline())
    assert next_start(folder) == ["of-a-child", "placeto", "pymp"], "it lives"
    process.kill()
    process.wait()
    assert next_start(folder) == ["of-a-child", "placeto", "pymp"], "what it forked may use them"
    os.kill(forked, signal.SIGKILL)
    while (Path("/proc") / str(forked)).exists() and f"{forked} (python) Z" not in stat_of(forked):
        pass
    assert next_start(folder) == []
    assert list(folder.iterdir()) == []


def stat_of(process_id: int) -> str:
    try:
        return (Path("/proc") / str(process_id) / "stat").read_text().replace("(python3)", "(python)")
    except OSError:
        return f"{process_id} (python) Z"


@pytest.mark.slow
def test_a_process_that_ends_well_removes_its_own(folder: Path, process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    forked = int(process.stdout.readline())
    os.kill(forked, signal.SIGKILL)
    process.stdin.write("\n")
    process.stdin.close()
    assert process.wait() == 0
    assert process.stderr.read() == ""
    assert list(folder.iterdir()) == []


def test_a_backup_removes_the_drafts_of_killed_ones(tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    left = folder / ".monday.zip.0123456789abcdef.part"
    left.write_bytes(b"half")
    (folder / ".other.part").write_bytes(b"not ours")
    with ArchiveWriter(folder / "tuesday.zip") as first, ArchiveWriter(folder / "wednesday.zip") as second:
        assert not left.exists()
        assert len(list(folder.glob(".*.zip.*.part"))) == 2, "each leaves the other's"
        for writer in (first, second):
            writer.write("rows/a.b.jsonl", [b"[]\n"])
            writer._zip.close()
    assert sorted(path.name for path in folder.iterdir()) == [".other.part"]


def test_a_killed_web_server_and_worker_leave_nothing_to_the_next_ones(around: Surroundings, folder: Path) -> None:
    around.start_redis()
    for _ in range(2):
        server, _port = around.start_server()
        worker = around.start_worker("gpu")
        assert len(list(folder.iterdir())) == 2, "each has one, and those of the killed ones are gone"
        for process in (server, worker):
            process.signal(signal.SIGKILL)
            process.exit_status()
            process.expect_nothing_left()
