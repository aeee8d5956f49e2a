"""What the parts say reaches the log whole and the console where it matters."""

import os
from pathlib import Path

import pytest

from webapp.supervisor.output import Concern, Console, Lines, Log, last_words, readable


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["INFO:     Started server process [1]"], []),
        (["2026-11-21 02:27:03,066 INFO celery.worker: ready"], []),
        (["[2026-11-21 02:27:03,066: INFO/MainProcess] ready"], []),
        (["2026-11-21 02:27:03.066: I tensorflow/core/util.cc:1] oneDNN"], []),
        (["ERROR:    Exception in ASGI application"], ["ERROR:    Exception in ASGI application"]),
        (["2026-11-21 02:27:03,066 WARNING root: disk"], ["2026-11-21 02:27:03,066 WARNING root: disk"]),
        (["INFO: a record", "  of two lines", "", "WARNING: no"], ["WARNING: no"]),
        (["INFO: quiet", "Traceback (most recent call last):", '  File "x"', "ValueError: 1"], [1, 2, 3]),
        (["MISINFORMED", "INFORMAL"], ["MISINFORMED", "INFORMAL"]),
        (["worker: Cold shutdown (MainProcess)", ""], []),
    ],
)
def test_the_console_shows_all_but_records_of_no_concern(lines: list[str], shown: list[str | int]) -> None:
    concern = Concern()
    expected = [lines[item] if isinstance(item, int) else item for item in shown]
    assert [line for line in lines if concern.shows(line)] == expected


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (
            '{"time": "2026-11-23T00:51:33+00:00", "level": "INFO", "logger": "a.b", "process": 1, "message": "well"}',
            ["2026-11-23T00:51:33+00:00 INFO a.b: well"],
        ),
        (
            '{"time": "T", "level": "ERROR", "logger": "a", "message": "x", "exception": "Traceback (most\\nOdd: 1"}',
            ["T ERROR a: x", "Traceback (most", "Odd: 1"],
        ),
        ("plain", ["plain"]),
        ("{odd", ["{odd"]),
        ('{"time": 1}', ['{"time": 1}']),
        ("{}", ["{}"]),
    ],
)
def test_a_record_of_json_is_read_as_text(line: str, lines: list[str]) -> None:
    assert readable(line) == lines


def test_the_console_shows_warnings_of_json_and_no_information() -> None:
    concern = Concern()
    records = [
        f'{{"time": "2026-11-23T00:51:33+00:00", "level": "{level}", "logger": "a", "message": "m"}}'
        for level in ("INFO", "WARNING", "DEBUG", "ERROR")
    ]
    shown = [words.split()[1] for record in records for words in readable(record) if concern.shows(words)]
    assert shown == ["WARNING", "ERROR"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "it printed nothing"),
        (["", "  "], "it printed nothing"),
        (["starting", "port taken", ""], "port taken"),
        (["Traceback (most recent call last):", '  File "x", line 1', "    x()", "a.b.OddError: too odd"], "too odd"),
        (
            [
                "Traceback (most recent call last):",
                "ValueError: 1",
                "Traceback (most recent call last):",
                "KeyError: 2",
            ],
            "2",
        ),
        (["Traceback (most recent call last):", "a.OddError: too odd", "  hint: be even"], "too odd"),
    ],
)
def test_last_words_are_the_reason(lines: list[str], words: str) -> None:
    assert last_words(lines) == words


def test_lines_come_whole_however_they_are_cut() -> None:
    read_end, write_end = os.pipe()
    lines = Lines(read_end)
    assert lines.read() == []
    os.write(write_end, b"one\ntw")
    assert lines.read() == ["one"]
    os.write(write_end, b"o\r\n\xff\n")
    assert lines.read() == ["two", "\ufffd"]
    os.write(write_end, b"last")
    os.close(write_end)
    assert lines.read() == []
    assert lines.read() == ["last"]
    assert lines.read() is None
    lines.close()


def test_a_line_without_end_is_not_gathered_without_end() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    lines, got = Lines(read_end), 0
    for _ in range(10):
        os.write(write_end, b"x" * 30_000)
        got += sum(len(line) for line in lines.read() or ())
    assert got >= 10 * 30_000 - 65536
    os.close(write_end)
    lines.close()


def test_a_log_that_has_grown_too_large_starts_anew_and_keeps_the_last(tmp_path: Path) -> None:
    path = tmp_path / "web.log"
    log = Log(path, Console(), largest_bytes=20)
    for line in ("a" * 15, "b" * 15, "c" * 15):
        log.write(line)
    log.close()
    assert (tmp_path / "web.log.1").read_text() == "a" * 15 + "\n" + "b" * 15 + "\n"
    assert path.read_text() == "c" * 15 + "\n"


def test_a_log_that_cannot_be_written_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full = Path("/dev/full")  # every write to it fails, as on a full disk
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    log = Log(full, Console())
    log.write("one")
    log.write("two")
    assert capsys.readouterr().out == (
        "placeto: cannot write /dev/full (No space left on device); its lines are lost from here on\n"
    )
