"""Children that are forked from a server: nothing is inherited, each is used once, and none outlives anybody.

That they keep to their limits and say how they ended as any child does, test_child.py holds.
"""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from engine.child import warm
from engine.child.parent import Limits, environment_of_children, run_in_child
from engine.child.server import SEVERAL_THREADS_EXIT_STATUS
from engine.child.warm import WarmServer
from engine.errors import ChildKilledError
from tests.engine.child.conftest import LOADED
from tests.engine.child.processes import is_alive, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every child is started on its own")

FUNCTIONS = "tests.engine.child.child_functions"
ROOT = Path(__file__).parents[3]
SMALL = Limits(memory_bytes=512 * 1024**2, seconds=30.0)
ENVIRONMENT = environment_of_children(Path("/"))


def surroundings() -> dict[str, object]:
    """Of a child that is forked, if that can be."""
    return cast(dict[str, object], run_in_child(f"{FUNCTIONS}:surroundings", {}, SMALL, is_warm=True)[1])


def test_each_child_is_forked_from_the_server_and_used_once(warm_server: WarmServer) -> None:
    first, second = surroundings(), surroundings()
    assert first["parent"] == second["parent"] == warm_server.pid
    assert len({first["pid"], second["pid"], warm_server.pid, os.getpid()}) == 4
    assert first["session"] == first["pid"]
    wait_for(lambda: not is_alive(cast(int, first["pid"])) and not is_alive(cast(int, second["pid"])))


def test_nothing_is_inherited(warm_server: WarmServer, tmp_path: Path) -> None:
    database, other_end = socket.socketpair()
    secret = (tmp_path / "secret").open("w")
    try:
        os.set_inheritable(database.fileno(), True)
        os.set_inheritable(secret.fileno(), True)
        warm.end_warm()
        warm.keep_warm(LOADED, ENVIRONMENT)  # a server that is started while these are open
        found = surroundings()
    finally:
        for each in (database, other_end, secret):
            each.close()
    descriptors = cast(dict[str, str], found["descriptors"])
    assert descriptors["0"] == os.devnull
    assert descriptors["1"] == descriptors["2"]
    assert descriptors["1"].endswith("/log.txt")
    assert descriptors["3"].startswith("pipe:")
    assert set(descriptors) <= {"0", "1", "2", "3", "4"}, "the fourth lists them"
    assert found["threads"] == 1
    assert found["umask"] == 0o077
    assert found["child_ended"] == str(signal.SIG_DFL)


def test_the_limits_are_on_what_a_child_adds_to_the_server() -> None:
    warm.keep_warm((*LOADED, f"{FUNCTIONS}:take_processor_time"), ENVIRONMENT)
    try:
        server = warm.warm_server()
        assert server is not None
        found = surroundings()
        pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[0])
    finally:
        warm.end_warm()
    assert found["parent"] == server.pid
    own = pages * os.sysconf("SC_PAGE_SIZE")
    assert abs(cast(int, found["address_space"]) - SMALL.memory_bytes - own) < 64 * 1024**2
    assert found["cpu_seconds"] == 30 * (os.cpu_count() or 1) + 1
    assert cast(float, found["used_cpu_seconds"]) < 1.0, "that of the server is not the child's"
    assert found["file_bytes"] == 4 * SMALL.file_bytes


def test_without_a_server_a_child_is_started_on_its_own() -> None:
    assert surroundings()["parent"] == os.getpid()


def test_a_stopped_server_is_ended_and_the_child_is_started_on_its_own(
    warm_server: WarmServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert surroundings()["parent"] == warm_server.pid
    monkeypatch.setattr(warm, "SECONDS_STOPPED", 0.5)
    os.kill(warm_server.pid, signal.SIGSTOP)
    assert surroundings()["parent"] == os.getpid()
    wait_for(warm_server.has_ended)
    assert "did not answer" in caplog.text


def test_a_server_that_is_stopped_while_a_child_works_does_not_hold_its_result_up(
    warm_server: WarmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm, "SECONDS_STOPPED", 0.5)
    monkeypatch.setattr(warm, "SECONDS_BETWEEN_LOOKS", 0.1)

    def stop(_stage: str, _done: int, _total: int) -> None:
        os.kill(warm_server.pid, signal.SIGSTOP)

    run_in_child(f"{FUNCTIONS}:report_and_take_a_second", {}, SMALL, task="x", is_warm=True, report_progress=stop)
    wait_for(warm_server.has_ended)


def test_a_killed_server_is_replaced_and_the_next_child_is_started_on_its_own(
    warm_server: WarmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert surroundings()["parent"] == warm_server.pid
    os.kill(warm_server.pid, signal.SIGKILL)
    wait_for(warm_server.has_ended)
    assert surroundings()["parent"] == os.getpid()
    warm.keep_warm(LOADED, ENVIRONMENT)
    assert surroundings()["parent"] == os.getpid(), "not at once: it may end again and again"
    monkeypatch.setattr(warm, "SECONDS_BETWEEN_STARTS", 0.0)
    warm.keep_warm(LOADED, ENVIRONMENT)
    another = warm.warm_server()
    assert another is not None
    assert surroundings()["parent"] == another.pid != warm_server.pid


def test_a_server_that_is_killed_while_its_child_works_takes_it_along_and_another_does_the_work(
    warm_server: WarmServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reported = tmp_path / "told"

    def pulse() -> None:
        if reported.exists() and not warm_server.has_ended():
            os.kill(warm_server.pid, signal.SIGKILL)

    _, texts = run_in_child(f"{FUNCTIONS}:sleep_at_first", {"told": str(reported)}, SMALL, pulse=pulse, is_warm=True)
    assert texts["parent"] == os.getpid()
    wait_for(lambda: not is_alive(int(reported.read_text())))
    assert "started on its own" in caplog.text


def test_a_killed_child_is_reported_as_any_other_and_the_server_goes_on(warm_server: WarmServer) -> None:
    order = {"signal": "SIGKILL", "last_words": ""}
    with pytest.raises(ChildKilledError, match=r"\Areading was interrupted: its process was killed"):
        run_in_child(f"{FUNCTIONS}:end_by_signal", {**order}, SMALL, task="reading", is_warm=True)
    assert surroundings()["parent"] == warm_server.pid


def test_server_and_child_end_with_the_process_that_keeps_them(tmp_path: Path) -> None:
    reported = tmp_path / "told"
    code = (
        "from pathlib import Path\n"
        "from engine.child import warm\n"
        "from engine.child.parent import *\n"
        f"warm.keep_warm({LOADED!r}, environment_of_children(Path('/')))\n"
        f"Path({str(tmp_path / 'server')!r}).write_text(str(warm.warm_server().pid))\n"
        f"run_in_child({FUNCTIONS + ':sleep_with_a_child_of_its_own'!r}, {{'told': {str(reported)!r}}}, Limits(),"
        " task='x', is_warm=True)"
    )
    environment = {"TMPDIR": str(tmp_path), "PATH": os.defpath}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment) as keeper:
        wait_for(reported.exists)
        keeper.kill()
    server = int((tmp_path / "server").read_text())
    child, grandchild, _ = reported.read_text().split()
    try:
        wait_for(lambda: not is_alive(server) and not is_alive(int(child)))
    finally:
        if is_alive(int(grandchild)):  # it has no such promise where the server is killed first
            os.kill(int(grandchild), signal.SIGKILL)


def _sleep_in_a_child(reported: str) -> None:
    run_in_child(f"{FUNCTIONS}:sleep_with_a_child_of_its_own", {"told": reported}, SMALL, task="x", is_warm=True)


def test_a_child_and_its_group_end_with_the_process_that_asked(warm_server: WarmServer, tmp_path: Path) -> None:
    reported = tmp_path / "told"
    process = multiprocessing.get_context("fork").Process(target=_sleep_in_a_child, args=(str(reported),), daemon=True)
    process.start()
    wait_for(reported.exists)
    process.kill()
    process.join()
    child, grandchild, _ = reported.read_text().split()
    wait_for(lambda: not is_alive(int(child)) and not is_alive(int(grandchild)))
    assert surroundings()["parent"] == warm_server.pid


def test_a_server_in_which_loading_has_started_threads_forks_nothing() -> None:
    warm.keep_warm((*LOADED, f"{FUNCTIONS}:start_a_thread"), ENVIRONMENT)
    server = warm.warm_server()
    assert server is not None
    try:
        assert surroundings()["parent"] == os.getpid()
        wait_for(server.has_ended)
        assert server.status == SEVERAL_THREADS_EXIT_STATUS
    finally:
        warm.end_warm()


def test_several_children_at_once_end_each_on_its_own(warm_server: WarmServer, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    reported = [tmp_path / f"told{index}" for index in range(3)]
    waiting = [context.Process(target=_sleep_in_a_child, args=(str(path),), daemon=True) for path in reported]
    for process in waiting:
        process.start()
    for path in reported:
        wait_for(path.exists)
    assert surroundings()["parent"] == warm_server.pid
    children = [int(path.read_text().split()[0]) for path in reported]
    waiting[1].kill()
    wait_for(lambda: not is_alive(children[1]))
    assert is_alive(children[0])
    assert is_alive(children[2])
    for process in waiting:
        process.kill()
        process.join()
    wait_for(lambda: not any(map(is_alive, children)))
