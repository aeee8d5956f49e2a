"""The processes of devices: how one that ended is told, how many there may be, that a visit leaves nothing there."""

import os
import re
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.child.parent import child_results, kills_for_memory
from engine.errors import ChildError, ChildKilledError, ClusterError, LimitError
from engine.formats.reading import order_of
from engine.graphs.reading_options import ReadingOptions
from engine.measuring import device_process
from engine.measuring.device_process import DeviceProcess, most_processes
from engine.measuring.many import WARM_UP_STEPS, GraphToMeasure
from tests.engine.measuring.conftest import LIMITS
from tests.engine.measuring.graphs_to_run import ENDLESS, FLOAT, node, shape
from tests.own_network import NEEDS_OWN_NETWORK

DEVICE = "/device:CPU:1"
VARIABLE_BYTES = 4 * 12_500_000
ONE_VARIABLE = (
    node("held", "VarHandleOp", dtype=FLOAT, shape=shape(12_500_000), container='s: ""', shared_name='s: "held"')
    + node("read", "ReadVariableOp", "held", dtype=FLOAT)
    + node("negative", "Neg", "read", T=FLOAT)
)


def ended_with(ending: signal.Signals, kills_before: int | None) -> DeviceProcess:
    """One that a signal has ended."""
    process = subprocess.Popen(["sleep", "600"], text=True)
    device = DeviceProcess(DEVICE, process, kills_before)
    device.require_running()
    process.send_signal(ending)
    process.wait()
    return device


@pytest.mark.parametrize(
    ("ending", "kills", "error", "sentence"),
    [
        (signal.SIGABRT, 0, ChildError, "the process of this device ended with signal SIGABRT"),
        (
            signal.SIGKILL,
            0,
            ChildKilledError,
            "the process of this device ended with signal SIGKILL: something killed it; allowed: another try",
        ),
        (
            signal.SIGKILL,
            1,
            LimitError,
            "the process of this device ended with signal SIGKILL: the machine ran out of memory; allowed: placements "
            "that fit in its memory",
        ),
    ],
)
def test_a_process_that_ended_is_reported_with_its_device_and_signal(
    ending: signal.Signals, kills: int, error: type[Exception], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kills`: how many processes the system has killed for memory meanwhile."""
    monkeypatch.setattr("engine.measuring.device_process.kills_for_memory", lambda: 7 + kills)
    with pytest.raises(error) as raised:
        ended_with(ending, 7).require_running()
    assert type(raised.value) is error and str(raised.value) == f"{DEVICE}: {sentence}"


def test_a_system_that_does_not_say_why_it_kills_leaves_memory_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.measuring.device_process.kills_for_memory", lambda: None)
    with pytest.raises(LimitError):
        ended_with(signal.SIGKILL, None).require_running()


def servers(folder: Path) -> list[int]:
    """The processes of devices whose temporary folder is in `folder`."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_server = b"engine.measuring.device_server" in (each / "cmdline").read_bytes()
            if is_server and str(folder).encode() in (each / "environ").read_bytes():
                found.append(int(each.name))
    return found


@NEEDS_OWN_NETWORK
def test_a_step_whose_device_is_killed_ends_at_once_and_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    graph = graph_of(ENDLESS, tmp_path, "2xCPU")
    ops = names_of(ENDLESS)
    began: list[float] = []
    killed: list[float] = []

    def hear(_stage: str, _done: int, total: int) -> None:
        if total == 1 + WARM_UP_STEPS:
            began.append(time.monotonic())

    def kill() -> None:
        if began and not killed and time.monotonic() > began[0] + 0.5:
            (server,) = servers(tmp_path)
            os.kill(server, signal.SIGKILL)
            killed.append(time.monotonic())

    kills_before = kills_for_memory()
    order = graph.order(ops, [[index % 2 for index in range(len(ops))]])
    with pytest.raises((ChildKilledError, LimitError)) as raised:
        graph.visit(order, [0], "a step", hear, kill)
    if kills_before == kills_for_memory():
        assert type(raised.value) is ChildKilledError
    assert str(raised.value).startswith(f"{DEVICE}: the process of this device ended with signal SIGKILL")
    assert time.monotonic() < killed[0] + 15.0 and servers(tmp_path) == []


def graph_of(text: str, folder: Path, cluster: str) -> GraphToMeasure:
    path = folder / "graph.pbtxt"
    path.write_text(text)
    return GraphToMeasure(path, ".pbtxt", ReadingOptions(), LIMITS, api.parse_cluster(cluster), 1)


def names_of(text: str) -> list[str]:
    return re.findall(r'node { name: "(\w+)"', text)


def test_as_many_processes_as_processors_and_two_always(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, most in ((1, 2), (2, 2), (16, 16)):
        monkeypatch.setattr(device_process, "usable_cores", lambda count=processors: count)
        assert most_processes() == most


@NEEDS_OWN_NETWORK
def test_more_devices_than_processors_are_refused_before_any_has_a_process(tmp_path: Path) -> None:
    most = most_processes()
    graph = graph_of(ONE_VARIABLE, tmp_path, f"{most + 1}xCPU")
    with pytest.raises(ClusterError) as raised:
        graph.visit(graph.order(names_of(ONE_VARIABLE), []), [], "a check")
    assert str(raised.value) == (
        f"cluster: {most + 1} devices would be as many processes; allowed: at most {most} on this machine, one for "
        "each processor, or 2"
    )


@NEEDS_OWN_NETWORK
def test_a_visit_begins_without_the_variables_of_earlier_ones(tmp_path: Path) -> None:
    path = tmp_path / "graph.pbtxt"
    path.write_text(ONE_VARIABLE)
    order: dict[str, Any] = order_of(path, ".pbtxt", ReadingOptions(), LIMITS)
    order |= {"devices": ["/device:CPU:0", DEVICE], "visits": 4, "threads": 1, "processes": True}
    function = "tests.engine.measuring.running:memory_of_visits_in_child"
    with child_results(function, order, LIMITS, own_network=True) as ((arrays, _), _):
        idle_bytes, held_bytes = (arrays[name].astype(np.float64) for name in ("idle_bytes", "held_bytes"))
    on_device = np.arange(4)[:, None] % 2 == np.arange(2)
    assert np.all(held_bytes[on_device] >= VARIABLE_BYTES)
    assert np.all(held_bytes[~on_device] < VARIABLE_BYTES) and np.all(idle_bytes < VARIABLE_BYTES)
