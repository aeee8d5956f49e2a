"""A body over the limit is refused before it reaches the disk. Against a real server, byte by byte."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.webapp.processes import Surroundings
from webapp.graphs.models import Graph
from webapp.projects.models import Project

UPLOAD_LIMIT_BYTES = 3 * 1024**2
CHUNK = b"x" * 65536


@pytest.fixture
def port(around: Surroundings, tmp_path: Path) -> int:
    """Of a web server whose temporary folder can be looked into."""
    spool = tmp_path / "spool"
    spool.mkdir()
    return around.start_web(PLACETO_UPLOAD_LIMIT_BYTES=str(UPLOAD_LIMIT_BYTES), TMPDIR=str(spool))


@contextmanager
def connection_to(port: int) -> Iterator[socket.socket]:
    """A plain connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        yield connection


def head(path: str, *headers: str) -> bytes:
    """The head of a POST."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode()


def answer(connection: socket.socket) -> bytes:
    """All that the server says until it closes the connection."""
    received = b""
    try:
        while more := connection.recv(65536):
            received += more
    except ConnectionResetError:
        pass
    return received


def send_without_end(connection: socket.socket, frame: bytes) -> int:
    """Send until the server closes; returns the bytes sent. The test fails if it would take them all."""
    sent = 0
    while sent < 100 * UPLOAD_LIMIT_BYTES:
        try:
            connection.sendall(frame)
        except (BrokenPipeError, ConnectionResetError):
            return sent
        sent += len(frame)
    pytest.fail("the server takes a body without end")


def nothing_on_disk(data_folder: Path, tmp_path: Path) -> bool:
    """No incoming file, no graph, no spooled body."""
    left = [*data_folder.glob("incoming/*"), *data_folder.glob("graphs/*"), *(tmp_path / "spool").iterdir()]
    return not left


@pytest.mark.parametrize(
    "path",
    [
        "/no/such/page",
        "/projects/",
        "/projects/00000000-0000-0000-0000-000000000000/graphs/",
        "/graphs/00000000-0000-0000-0000-000000000000/again/",
    ],
)
def test_a_large_body_for_any_other_address_is_refused_from_its_head(
    port: int, path: str, data_folder: Path, tmp_path: Path
) -> None:
    with connection_to(port) as connection:
        connection.sendall(
            head(path, f"Content-Length: {150 * 1024**2}", "Content-Type: application/x-www-form-urlencoded")
        )
        received = answer(connection)
    assert received.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in received.lower()
    assert b"at most 1.00 MiB" in received
    assert nothing_on_disk(data_folder, tmp_path)


def test_an_upload_over_its_limit_is_refused_from_its_head(port: int, project: Project) -> None:
    with connection_to(port) as connection:
        length = f"Content-Length: {UPLOAD_LIMIT_BYTES + 1024**2}"
        connection.sendall(head(f"/projects/{project.id}/graphs/", length, "Accept: application/json"))
        received = answer(connection)
    assert received.startswith(b"HTTP/1.1 413 ")
    assert received.endswith(b'{"errors": {"file": ["The request is too large; allowed: at most 3.06 MiB."]}}')


def test_a_graph_that_is_read_again_takes_a_second_file_within_the_limit(
    port: int, graph: Graph, data_folder: Path, tmp_path: Path
) -> None:
    with connection_to(port) as connection:
        length = f"Content-Length: {UPLOAD_LIMIT_BYTES + 1024**2}"
        connection.sendall(head(f"/graphs/{graph.id}/again/", length, "Accept: application/json"))
        assert b"at most 3.06 MiB" in answer(connection)
    with connection_to(port) as connection:
        headers = ("Content-Length: 2097152", "Content-Type: multipart/form-data; boundary=b", "Connection: close")
        connection.sendall(head(f"/graphs/{graph.id}/again/", *headers) + b"x" * 2097152)
        assert answer(connection).startswith(b"HTTP/1.1 403 "), "read, and refused for its missing CSRF token"
    assert list(data_folder.glob("graphs/*")) == [graph.source_path]


def test_a_body_without_end_is_cut_off(port: int, project: Project, data_folder: Path, tmp_path: Path) -> None:
    frame = b"%x\r\n%s\r\n" % (len(CHUNK), CHUNK)
    with connection_to(port) as connection:
        headers = ("Transfer-Encoding: chunked", "Content-Type: multipart/form-data; boundary=b")
        connection.sendall(head(f"/projects/{project.id}/graphs/", *headers))
        send_without_end(connection, frame)
    assert nothing_on_disk(data_folder, tmp_path)


def test_a_body_without_a_length_that_is_within_the_limit_is_read(port: int) -> None:
    with connection_to(port) as connection:
        connection.sendall(head("/projects/", "Transfer-Encoding: chunked", "Connection: close"))
        connection.sendall(b"6\r\nname=x\r\n0\r\n\r\n")
        assert answer(connection).startswith(b"HTTP/1.1 403 "), "read, and refused for its missing CSRF token"


def test_a_length_that_lies_does_not_help(port: int, data_folder: Path, tmp_path: Path) -> None:
    """The server itself takes no more than was announced, and what follows is no request."""
    with connection_to(port) as connection:
        connection.sendall(head("/projects/", "Content-Length: 10", "Content-Type: application/x-www-form-urlencoded"))
        send_without_end(connection, CHUNK)
    assert nothing_on_disk(data_folder, tmp_path)


def test_an_upload_that_is_cut_at_half_leaves_nothing(
    port: int, project: Project, data_folder: Path, tmp_path: Path
) -> None:
    with connection_to(port) as connection:
        headers = (f"Content-Length: {2 * 1024**2}", "Content-Type: multipart/form-data; boundary=b")
        connection.sendall(head(f"/projects/{project.id}/graphs/", *headers))
        connection.sendall(b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.pb"\r\n\r\n')
        connection.sendall(b"x" * 1024**2)
    time.sleep(0.5)
    assert nothing_on_disk(data_folder, tmp_path)
    assert not project.graphs.exists()
