"""Tests that share what only one of them may have at a time run one after the other; the slow ones can be left out."""

import os
import re
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

from tests import compiling
from tests.compiling import compile_and_hold, wait_until_compiled
from tests.conftest import SLOW, TESTS, group_of, is_slow


def test_the_tests_of_a_group_run_on_one_worker(request: pytest.FixtureRequest) -> None:
    """pytest-xdist reads a test's group from the end of its name; with some versions of pytest it writes none."""
    if request.config.getoption("loadgroup", False):
        assert request.node.nodeid.endswith("@test_groups.py")
    else:
        assert request.node.get_closest_marker("xdist_group").args == ("test_groups.py",)


def test_one_browser_and_one_application_serve_the_tests_of_a_browser() -> None:
    files = list((TESTS / "e2e").glob("test_*.py"))
    assert len(files) > 1
    assert {group_of(path) for path in files} == {"e2e"}


def test_each_file_of_the_web_has_a_database_of_its_worker() -> None:
    assert group_of(TESTS / "webapp" / "test_upload.py") == "webapp/test_upload.py"


def test_all_that_is_named_as_slow_is_there() -> None:
    assert [name for name in SLOW if not (TESTS / name).exists()] == []
    assert is_slow(TESTS / "e2e" / "test_main_job.py")
    assert is_slow(TESTS / "webapp" / "test_worker_ends.py")
    assert not is_slow(TESTS / "webapp" / "test_start_run.py")


def test_make_leaves_out_what_is_marked_slow() -> None:
    makefile = (TESTS.parent / "Makefile").read_text()
    [recipe] = re.findall(r"^test-fast:.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE)
    assert '-m "not slow"' in recipe


def test_the_tests_wait_while_the_engine_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "LOCK", tmp_path / "build" / "lock")
    wait_until_compiled()  # nothing has ever been compiled here
    waited = Event()

    def wait() -> None:
        wait_until_compiled()
        waited.set()

    waiting = Thread(target=wait)

    def compile_everything(command: list[str], *, check: bool) -> "subprocess.CompletedProcess[str]":
        assert command[1:] == ["-m", "engine", "compile"]
        waiting.start()
        assert not waited.wait(0.2)
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(subprocess, "run", compile_everything)
    assert compile_and_hold() == 3
    waiting.join(60)
    assert waited.is_set()


MARKED = """
import subprocess, sys, pytest

def test_fast(): pass

@pytest.mark.slow
def test_slow(): subprocess.run([sys.executable, "-c", ""], check=True)

def test_not_marked(): subprocess.run([sys.executable, "-c", ""], check=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "outcome"),
    [((), "1 failed, 2 passed"), (("-m", "not slow"), "1 failed, 1 passed, 1 deselected")],
)
def test_a_slow_test_is_left_out_and_one_that_is_not_marked_starts_no_python(
    tmp_path: Path, options: tuple[str, ...], outcome: str
) -> None:
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_marked.py").write_text(MARKED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow: slow\n    xdist_group: group\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:django",
        "-p",
        "no:cacheprovider",
        *options,
        str(tmp_path),
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    environment["PYTHONPATH"] = str(TESTS.parent)
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert answer.stdout.splitlines()[-1].startswith(f"{outcome} in "), answer.stdout
    assert "a test that starts a Python process is marked slow" in answer.stdout
