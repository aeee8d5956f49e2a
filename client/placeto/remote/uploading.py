"""Sends a graph's file: at once if it is small, else in parts that go on where a lost connection left them."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from placeto.errors import ClientError, ServerError
from placeto.remote.connection import CONFLICT, NOT_FOUND, PASSING, Connection, LostError, Waits, path_of

AT_ONCE_BYTES = 16_000_000
PATIENCE_SECONDS = 600.0
"""without one more byte that has arrived"""
KNOWN_UPLOADS = 5
"""keys of one file that are tried for an upload that was left before"""
OFFSET = "Upload-Offset"

Progress = Callable[[int, int], None]
"""takes the bytes that have arrived, and those of the file"""


def upload(
    connection: Connection,
    project_id: str,
    path: Path,
    reading: Mapping[str, Any],
    times: Path | None = None,
    progress: Progress = lambda _done, _total: None,
) -> Any:
    """Makes a graph of a file; returns the graph's row.

    Args:
        reading: How to read it: fields of the page's form, such as `batch_size`.
        times: A file of measured op times.

    Raises:
        ClientError: A file cannot be read, the server refuses it, or gives no answer.
    """
    size = _readable_bytes(path)
    if times is not None:
        _readable_bytes(times)
    if size <= AT_ONCE_BYTES:
        progress(0, size)
        return _with_files(connection, f"{path_of('projects', project_id)}/graphs", reading, file=path, times=times)
    return _PartialUpload(connection, project_id, path, size, progress).graph(reading, times)


def _readable_bytes(path: Path) -> int:
    """The size of a file. Raises ClientError if there is none that can be read."""
    try:
        with path.open("rb"):
            return path.stat().st_size
    except OSError as error:
        raise ClientError(f"{path}: {error.strerror}") from error


def _with_files(
    connection: Connection,
    path: str,
    reading: Mapping[str, Any],
    *,
    file: Path | None = None,
    times: Path | None = None,
) -> Any:
    """A POST of a form with files, which are read again whenever it is sent again."""
    key = str(uuid.uuid4())
    given = {name: each for name, each in (("file", file), ("run_metadata", times)) if each is not None}
    waits = Waits(PATIENCE_SECONDS, connection.sleep)
    while True:
        with ExitStack() as stack:
            files = {name: (each.name, stack.enter_context(each.open("rb"))) for name, each in given.items()}
            try:
                fields = {name: _text(value) for name, value in reading.items()}
                answer = connection.send_once("POST", path, data=fields, files=files, headers={"Idempotency-Key": key})
                return json.loads(answer.content)
            except (LostError, ServerError) as error:
                if not _may_pass(error) or not waits.wait():
                    raise


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    return str(value)


def _may_pass(error: ClientError) -> bool:
    return not isinstance(error, ServerError) or error.status in PASSING


class _PartialUpload:
    """One file on its way, in parts.

    The upload's key follows from the file, so that a process that is started again finds what an earlier one left.
    """

    def __init__(self, connection: Connection, project_id: str, path: Path, size: int, progress: Progress) -> None:
        self._connection, self._project_id = connection, project_id
        self._path, self._size, self._progress = path, size, progress
        self._sha256 = _sha256(path)

    def graph(self, reading: Mapping[str, Any], times: Path | None) -> Any:
        """The row of the graph that the whole file has become."""
        row = self._begun()
        self._send(path_of("uploads", row["id"]), row["part_bytes"])
        address = path_of("uploads", row["id"])
        try:
            if times is not None:
                return _with_files(self._connection, f"{address}/graph", reading, times=times)
            return self._connection.make(f"{address}/graph", json=dict(reading))
        except ServerError:
            with suppress(ClientError):
                self._connection.delete(address)  # what is refused once would be refused again
            raise

    def _begun(self) -> Any:
        """The upload's row: the one that was left, or a new one."""
        body = {"name": self._path.name, "bytes": self._size, "sha256": self._sha256}
        address = f"{path_of('projects', self._project_id)}/uploads"
        known = hashlib.sha256(f"{address} {json.dumps(body)}".encode()).hexdigest()
        for number in range(KNOWN_UPLOADS):
            row = self._connection.make(address, key=f"upload {known} {number}", json=body)
            try:
                return self._connection.get(path_of("uploads", row["id"]))
            except ServerError as error:
                if error.status != NOT_FOUND:
                    raise
        return self._connection.make(address, json=body)

    def _send(self, address: str, part_bytes: int) -> None:
        """Sends what the server lacks; after an interruption it asks how far that is."""
        waits = Waits(PATIENCE_SECONDS, self._connection.sleep)
        offset = 0
        with self._path.open("rb") as file:
            while (arrived := self._arrived(address)) < self._size:
                if arrived > offset:
                    waits = Waits(PATIENCE_SECONDS, self._connection.sleep)
                offset = arrived
                self._progress(offset, self._size)
                try:
                    offset = self._sent_from(file, address, offset, part_bytes)
                except (LostError, ServerError) as error:
                    if not (_may_pass(error) or _is_conflict(error)) or not waits.wait():
                        raise
        self._progress(self._size, self._size)

    def _arrived(self, address: str) -> int:
        return int(self._connection.get(address)["offset"])

    def _sent_from(self, file: IO[bytes], address: str, offset: int, part_bytes: int) -> int:
        """Sends parts until all have arrived or one fails; returns how far that is."""
        while offset < self._size:
            file.seek(offset)
            content = file.read(min(part_bytes, self._size - offset))
            if not content:
                raise ClientError(f"{self._path}: the file has become shorter while it was sent")
            headers = {OFFSET: str(offset), "Content-Type": "application/octet-stream"}
            answer = self._connection.send_once("PUT", address, content=content, headers=headers)
            offset = int(json.loads(answer.content)["offset"])
            self._progress(offset, self._size)
        return offset


def _is_conflict(error: ClientError) -> bool:
    """Whether a part came at another place than the server waits for, or beside another one."""
    return isinstance(error, ServerError) and error.status == CONFLICT


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
