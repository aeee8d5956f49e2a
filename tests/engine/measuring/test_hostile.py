"""Graphs that would harm the machine that measures them: each ends in one sentence, and leaves nothing behind."""

import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from engine import api
from engine.child.parent import Limits
from engine.errors import LimitError
from engine.graphs.reading_options import ReadingOptions
from engine.measuring.many import WARM_UP_STEPS, GraphToMeasure
from tests.engine.measuring.graphs_to_run import ENDLESS, FLOAT, INT, node, number, relu
from tests.own_network import NEEDS_OWN_NETWORK

LIMITS = Limits(memory_bytes=6 * 1024**3, seconds=120.0)
SHAPE = "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 60000 int_val: 60000 }"
LARGE = (
    node("lengths", "Const", dtype=INT, value=SHAPE)
    + number("one")
    + node("fill", "Fill", "lengths", "one", T=FLOAT, index_type=INT)
    + relu("end", "fill")
)
"""a tensor of 14 GB"""


class EnoughError(Exception):
    """Ends a measurement."""


class Measured:
    """A graph that is run with its ops by turns on two processes, with the temporary folder in `folder`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._temporary = folder, folder / "temporary"
        self._temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(self._temporary))
        self._ending_at = np.inf

    def run(self, text: str, most_seconds: float = np.inf) -> None:
        """Run it; a step that takes more than `most_seconds` ends in EnoughError."""
        path = self._folder / "graph.pbtxt"
        path.write_text(text)
        prepared = api.prepare(path, ".pbtxt", lambda *_: None, LIMITS)
        graph = GraphToMeasure(path, ".pbtxt", ReadingOptions(), LIMITS, api.parse_cluster("2xCPU"), 1)
        names = prepared.graph.op_names
        order = graph.order(names, [[index % 2 for index in range(len(names))]])

        def hear(_stage: str, _done: int, total: int) -> None:
            if total == 1 + WARM_UP_STEPS and self._ending_at == np.inf:
                self._ending_at = time.monotonic() + most_seconds

        graph.visit(order, [0], "a step", hear, self._end)

    def _end(self) -> None:
        if time.monotonic() > self._ending_at:
            raise EnoughError

    def left(self) -> list[str]:
        """The files and the processes that are left; a process has the temporary folder in its environment."""
        processes = []
        for each in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if str(self._temporary).encode() in each.read_bytes():
                    processes.append(each.parent.name)
        return [*(path.name for path in self._temporary.iterdir()), *processes]


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    return Measured(tmp_path, monkeypatch)


@NEEDS_OWN_NETWORK
def test_a_graph_that_needs_more_memory_than_there_is(measured: Measured) -> None:
    with pytest.raises(LimitError) as raised:
        measured.run(LARGE)
    assert str(raised.value).startswith(
        "fill: TensorFlow has too little memory to run the graph: OOM when allocating tensor with shape[60000,60000]"
    )
    assert measured.left() == []


@NEEDS_OWN_NETWORK
def test_a_graph_whose_step_never_ends_is_ended_with_all_its_processes(measured: Measured) -> None:
    with pytest.raises(EnoughError):
        measured.run(ENDLESS, 1.0)
    assert measured.left() == []
