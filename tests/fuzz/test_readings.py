"""A child that reads a batch: what ends it early counts against the input that it was reading."""

import os
import signal
from pathlib import Path

import pytest

from engine.errors import GraphError
from tests.fuzz import readings
from tests.fuzz.inputs import GRAPH, Input
from tests.fuzz.outcomes import BROKEN, OVER_LIMIT, READ, REFUSED, Tally
from tests.fuzz.sentences import fault_of_sentence

GOOD = Input(GRAPH, ".pb", b"good")


def _read(tried: Input, _folder: Path) -> None:
    """What the readers might do, by the content."""
    if tried.content == b"killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif tried.content == b"wrong":
        raise GraphError("this is no graph", field="file")
    elif tried.content == b"fault":
        raise IndexError
    elif tried.content == b"memory":
        bytearray(2**40)
    elif tried.content == b"traceback":
        raise GraphError('File "x.py"', field="file")


@pytest.mark.parametrize(
    ("content", "outcome", "fault"),
    [
        (b"good", READ, ""),
        (b"wrong", REFUSED, ""),
        (b"memory", OVER_LIMIT, ""),
        (b"fault", BROKEN, "IndexError at tests/fuzz/test_readings.py"),
        (b"traceback", BROKEN, "no plain sentence"),
        (b"killed", BROKEN, "the child ended with -9"),
    ],
)
def test_each_end_of_an_input(monkeypatch: pytest.MonkeyPatch, content: bytes, outcome: str, fault: str) -> None:
    monkeypatch.setattr(readings, "read_input", _read)
    batch = [GOOD, Input(GRAPH, ".pb", content), GOOD]
    ended = [end for _, end in readings.read_batch(batch, None)]
    assert [end.outcome for end in ended] == [READ, outcome, READ]
    assert ended[1].fault.startswith(fault)
    assert bool(ended[1].fault) == bool(fault)


def test_an_input_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "SLOWEST_SECONDS", 0.2)
    monkeypatch.setattr(readings, "read_input", lambda tried, _: signal.pause() if tried.content == b"slow" else None)
    batch = [GOOD, Input(GRAPH, ".pb", b"slow"), GOOD]
    assert [end.outcome for _, end in readings.read_batch(batch, None)] == [READ, BROKEN, READ]


def test_a_fault_is_saved_and_can_be_repeated(tmp_path: Path) -> None:
    tally = Tally()
    for number in range(9):
        tally.add_fault("fault", Input(GRAPH, ".pb", bytes([number])), tmp_path)
    files = tally.faults["fault"]
    assert len(files) == 3
    assert Input.from_json(Path(files[1]).read_text()).content == b"\x01"


@pytest.mark.parametrize(
    "sentence", ["", 'File "a.py", line 3', "Something went wrong on our side.", "a\nb", "x" * 9999]
)
def test_what_is_no_sentence_for_people(sentence: str) -> None:
    assert fault_of_sentence(sentence)


def test_a_sentence_for_people() -> None:
    assert fault_of_sentence("node 3 (ﷺ): this is no number; allowed: 0 to 1") == ""
