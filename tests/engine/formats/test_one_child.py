"""Checking and reading a file starts one child each, which opens and parses each file once."""

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.child import parent, warm
from engine.child.parent import Limits, ReportProgress, Results, StartedChild, no_progress, run_in_child
from engine.costs.costs import CostSource
from engine.events import Json
from engine.formats.reading import (
    check_run_metadata,
    check_upload,
    keep_warm,
    order_of,
    prepare,
    read_in_child,
)
from engine.graphs.reading_options import ReadingOptions
from tests.engine.costs.step_stats_samples import CPU, device, run_metadata, stats
from tests.engine.formats.graphdef_samples import CALL_IN_TEXT

PARSERS = (
    ("engine.formats.graphdef", "read_messages"),
    ("engine.formats.meta_graph", "read_messages"),
    ("engine.formats.saved_model.saved_model", "read_messages"),
    ("engine.costs.measured", "devices_of"),
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A GraphDef with a function, and step stats of it."""
    graph, times = tmp_path / "graph.pbtxt", tmp_path / "times.pb"
    graph.write_text(CALL_IN_TEXT)
    times.write_bytes(run_metadata(device(CPU, stats("a", 7))))
    return graph, times


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[StartedChild]:
    """The children that are started on their own."""
    found: list[StartedChild] = []

    class Counted(StartedChild):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            found.append(self)

    monkeypatch.setattr(parent, "StartedChild", Counted)
    return found


@pytest.fixture
def warm_pid() -> Iterator[int]:
    keep_warm()
    server = warm.warm_server()
    assert server is not None
    yield server.pid
    warm.end_warm()


def test_a_graph_with_functions_and_measured_times_is_read_in_one_child(
    files: tuple[Path, Path], started: list[StartedChild]
) -> None:
    graph, times = files
    check_upload(graph, graph.suffix, Limits())
    check_run_metadata(times, graph.suffix, Limits())
    assert len(started) == 2, "one a file"
    prepared = prepare(graph, graph.suffix, no_progress, Limits(), run_metadata=times)
    assert len(started) == 3
    assert "Neg" in prepared.graph.op_types
    assert np.count_nonzero(prepared.costs.source == CostSource.MEASURED) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every child is started on its own")
def test_a_forked_child_reads_what_a_started_one_reads(
    files: tuple[Path, Path], started: list[StartedChild], warm_pid: int
) -> None:
    graph, times = files
    forked = prepare(graph, graph.suffix, no_progress, Limits(), run_metadata=times)
    assert started == []
    assert Path(f"/proc/{warm_pid}").exists()
    warm.end_warm()
    alone = prepare(graph, graph.suffix, no_progress, Limits(), run_metadata=times)
    assert len(started) == 1
    assert forked.to_bytes() == alone.to_bytes()


def test_each_file_is_parsed_once_and_a_text_is_opened_to_see_its_form(files: tuple[Path, Path]) -> None:
    graph, times = files
    order = order_of(graph, graph.suffix, ReadingOptions(), Limits())
    order |= {"run_metadata": str(times), "profile_kind": None}
    _, texts = run_in_child(f"{__name__}:count_in_child", order, Limits())
    assert texts == {"opened": {str(graph): 2, str(times): 1}, "parsed": {"read_messages": 1, "devices_of": 1}}


def count_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """How often a reading opens each of its files, and how often it parses one."""
    opened, parsed = Counter[str](), Counter[str]()
    files = {order["path"], order["run_metadata"]}
    sys.addaudithook(lambda event, seen: opened.update([seen[0]] if event == "open" and seen[0] in files else []))
    for module, name in PARSERS:
        loaded = importlib.import_module(module)
        vars(loaded)[name] = counted(name, getattr(loaded, name), parsed)
    read_in_child(order, folder, report_progress)
    return {}, {"opened": dict(opened), "parsed": dict(parsed)}


def counted(name: str, parse: Callable[..., Any], calls: Counter[str]) -> Callable[..., Any]:
    """`parse`, whose calls are counted."""

    def call(*arguments: Any) -> Any:
        calls[name] += 1
        return parse(*arguments)

    return call
