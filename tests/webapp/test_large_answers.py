"""Answers that clients do not read: memory has a bound, and so has the room on the disk."""

import asyncio
import gc
import io
from pathlib import Path
from typing import BinaryIO

import pytest
from django.http import HttpResponse, StreamingHttpResponse

from tests.webapp.downloads import content_of
from webapp.capacity import BusyError
from webapp.http import large_answers
from webapp.http.large_answers import FileAnswer, held, in_memory, on_disk, temporary_answer

KIB = 1024


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 KiB of memory."""
    monkeypatch.setattr(large_answers, "MOST_HELD_BYTES", 300 * KIB)
    gc.collect()
    assert (in_memory.bytes, on_disk.bytes) == (0, 0), "nothing is left of earlier tests"


def answer(kib: int) -> HttpResponse:
    response = HttpResponse(bytes(kib * KIB), content_type="text/csv", status=201)
    response["X-Own"] = "1"
    response.set_cookie("crumb", "2")
    return response


def test_what_memory_has_no_room_for_waits_on_the_disk(data_folder: Path) -> None:
    first, second, third = held(answer(200)), held(answer(200)), held(answer(100))
    assert (first.streaming, second.streaming, third.streaming) == (False, True, False)
    assert (in_memory.bytes, on_disk.bytes) == (300 * KIB, 200 * KIB)
    assert list((data_folder / "incoming").iterdir()) == [], "the file has no name"
    assert (second.status_code, second["Content-Type"], second["X-Own"]) == (201, "text/csv", "1")
    assert second["Content-Length"] == str(200 * KIB)
    assert second.cookies["crumb"].value == "2"
    assert content_of(second) == bytes(200 * KIB)
    for response in (first, second, third):
        response.close()
    assert (in_memory.bytes, on_disk.bytes) == (0, 0)
    assert not held(answer(200)).streaming, "there is room again"


def test_small_answers_and_streams_are_left_as_they_are() -> None:
    stream = StreamingHttpResponse(iter([b"a"]))
    assert held(stream) is stream
    assert not any(held(answer(64)).streaming for _ in range(10))
    assert in_memory.bytes == 0


def test_an_answer_that_nobody_waits_for_any_more_gives_its_room_back() -> None:
    waiting = [held(answer(200)), held(answer(200))]
    assert (in_memory.bytes, on_disk.bytes) == (200 * KIB, 200 * KIB)
    waiting.clear()
    gc.collect()
    assert (in_memory.bytes, on_disk.bytes) == (0, 0)


def disk_file(tmp_path: Path, kib: int) -> BinaryIO:
    path = tmp_path / "file"
    path.write_bytes(bytes(kib * KIB))
    return path.open("rb")


def test_answers_leave_half_of_the_disk_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 1000 * KIB

    monkeypatch.setattr("webapp.http.large_answers.shutil.disk_usage", lambda _folder: Usage)
    first = temporary_answer(disk_file(tmp_path, 400))
    Usage.free -= 400 * KIB
    refused = disk_file(tmp_path, 200)
    with pytest.raises(BusyError, match="Too many downloads wait for their clients"):
        temporary_answer(refused)
    assert refused.closed
    first.close()
    Usage.free += 400 * KIB
    only = temporary_answer(disk_file(tmp_path, 900))
    assert on_disk.bytes == 900 * KIB, "a single one is not refused for its size"
    only.close()


def test_a_stored_file_is_read_in_pieces_and_closed(tmp_path: Path) -> None:
    file = disk_file(tmp_path, 1000)
    response = FileAnswer(file, content_type="application/octet-stream")
    assert on_disk.bytes == 0, "it is there anyway"

    async def pieces() -> list[int]:
        return [len(piece) async for piece in response.streaming_content]  # type: ignore[union-attr]

    assert asyncio.run(pieces()) == [256 * KIB] * 3 + [232 * KIB]
    response.close()
    assert file.closed
    assert isinstance(file, io.BufferedReader)
