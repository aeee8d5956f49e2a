"""A child in a sandbox reads its files and code, writes its folder, and reaches nothing else."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.child import sandbox
from engine.child.parent import Limits, run_in_child
from engine.events import Json

FUNCTIONS = "tests.engine.child.child_functions"
SMALL = Limits(memory_bytes=512 * 1024**2, seconds=60.0)

pytestmark = pytest.mark.skipif(sandbox.missing() != [], reason="this system has no whole sandbox")


@pytest.fixture(params=["started", "forked"])
def is_warm(request: pytest.FixtureRequest) -> bool:
    if request.param == "forked":
        request.getfixturevalue("warm_server")
    return bool(request.param == "forked")


@pytest.fixture
def order(tmp_path: Path) -> Iterator[dict[str, Json]]:
    """A data folder with secrets, a process with a secret in its environment, a Redis and a port that listen."""
    outside = tmp_path / "data"
    outside.mkdir()
    (outside / "secret_key").write_text("secret")
    (outside / "placeto.sqlite3").write_text("rows")
    (outside / "graph.pb").write_bytes(b"graph")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as redis,
        subprocess.Popen(["/bin/sleep", "600"], env={"DATABASE_URL": "postgres://user:secret@host/name"}) as process,
    ):
        redis.bind(str(outside / "redis.sock"))
        redis.listen()
        port = server.getsockname()[1]
        yield {"outside": str(outside), "file": str(outside / "graph.pb"), "port": port, "process": process.pid}
        process.kill()


def probed(order: dict[str, Json], *, is_warm: bool, in_sandbox: bool) -> dict[str, Json]:
    reads = [Path(str(order["file"]))] if in_sandbox else None
    return run_in_child(f"{FUNCTIONS}:probe", order, SMALL, task="probing", is_warm=is_warm, reads=reads)[1]


def test_it_reaches_its_own_file_and_folder_alone(order: dict[str, Json], is_warm: bool) -> None:
    found = probed(order, is_warm=is_warm, in_sandbox=True)
    assert {name for name, answer in found.items() if answer == "yes"} == {"file", "own folder"}
    assert len(found) == 13
    assert (Path(str(order["outside"])) / "secret_key").read_text() == "secret"


def test_the_probe_finds_what_is_there_without_a_sandbox(order: dict[str, Json]) -> None:
    found = probed(order, is_warm=False, in_sandbox=False)
    assert {name for name, answer in found.items() if answer != "yes"} <= {"memory", "program"}
    assert found["environment"] == found["Redis"] == found["TCP"] == found["database"] == "yes"


def test_a_filter_has_a_number_for_each_call_on_each_processor() -> None:
    for processor in ("x86_64", "aarch64"):
        assert len(sandbox.program(processor, os.getpid())) % 8 == 0


def test_the_data_folder_in_the_checkout_is_no_code() -> None:
    data = Path(__file__).parents[3] / "data"
    assert not any(data.is_relative_to(folder) for folder in sandbox.code_folders())
    assert any(Path(sys.modules["json"].__file__ or "").is_relative_to(folder) for folder in sandbox.code_folders())
