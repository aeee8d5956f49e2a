"""The line on the terminal: written over, cleared, and nothing where nobody looks."""

import io
from typing import Any

import pytest
from placeto.remote.progress import ProgressLine, bar, bytes_words, time_words
from placeto.remote.runs import Run, _Shown

RUN: dict[str, Any] = {
    **dict.fromkeys(("id", "graph_id", "project_id", "title", "error"), ""),
    "status": "queued",
    "method": "heft",
    "evaluations": 2000,
    "evaluations_used": 0,
    "seed": 0,
    "best_step_time_us": None,
    "created_at": "2026-11-29T16:00:00Z",
}
STATE = {"status": "running"}


def test_words_are_written_over_and_cleared() -> None:
    stream = io.StringIO()
    with ProgressLine(shown=True, stream=stream) as line:
        line.show("a longer line", now=True)
        line.show("a\nshort one", now=True)
        line.show("too soon")
    assert stream.getvalue() == "\ra longer line\ra short one  \r           \r"


def test_nothing_is_written_where_nobody_looks() -> None:
    stream = io.StringIO()
    with ProgressLine(stream=stream) as line:
        line.show("words", now=True)
    assert stream.getvalue() == ""


def test_a_run_shows_how_far_it_is_and_how_good() -> None:
    shown = _Shown(Run.of(RUN, connection=None))
    assert shown.words({"status": "queued"}) == "heft: waits for a worker"
    shown.take([{"type": "baseline", "method": "single_device", "step_time_us": 3000.0}])
    shown.take([{"type": "progress", "stage": "coarsens", "done": 1, "total": 1200}])
    assert shown.words(STATE).endswith("0/2,000 evaluations · coarsens 1/1,200")
    shown.take([{"type": "episode", "evaluations": 1000, "best_step_time_us": 1500.0}])
    assert shown.words(STATE) == (
        "heft ━━━━━━━━━━────────── 1,000/2,000 evaluations · best 1.5 ms · 2.00× as fast as one device"
    )


@pytest.mark.parametrize(("done", "total", "full"), [(0, 9, 0), (9, 9, 20), (99, 9, 20), (1, 0, 0), (1, 2, 10)])
def test_a_bar_is_never_longer_than_itself(done: int, total: int, full: int) -> None:
    assert bar(done, total) == "━" * full + "─" * (20 - full)


def test_figures_have_units() -> None:
    assert [time_words(each) for each in (5.7, 1234.0, 2.5e6)] == ["5.7 µs", "1.234 ms", "2.5 s"]
    assert [bytes_words(each) for each in (12, 16_800_000, 2e9)] == ["12 bytes", "16.8 MB", "2 GB"]
