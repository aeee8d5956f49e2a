"""A measured placement: every op where it was put, and real step times beside the simulated one."""

import dataclasses
import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from engine import api
from engine.cli.main import main
from engine.costs.measured import with_measured
from engine.errors import PlacementError, PlacetoError, SettingsError
from engine.graphs.reading_options import ReadingOptions
from engine.measuring.explanation import ALLOCATED
from engine.measuring.measurement import PARALLEL, PROCESSES, VIRTUAL, measure
from engine.measuring.step_difference import ADDED
from tests.engine.costs.in_child import read_step_stats
from tests.engine.measuring.conftest import LIMITS, Profiled
from tests.engine.measuring.graphs_to_run import FLOAT, node, placeholder, shape
from tests.own_network import NEEDS_OWN_NETWORK

AS_IT_IS = ReadingOptions()


def placed_at_random(prepared: api.PreparedGraph, device: str) -> dict[str, str]:
    """Each group on one of three devices."""
    device_of_group = np.random.default_rng(0).integers(0, 3, prepared.grouping.group_count)
    groups = prepared.grouping.group_of_op
    return {
        op: device.format(device_of_group[group]) for op, group in zip(prepared.graph.op_names, groups, strict=True)
    }


def test_gpus_that_are_not_there_are_virtual_cpus_and_every_op_runs_where_it_was_put(
    prepared: api.PreparedGraph, profiled: Profiled, tiny_cnn_path: Path, tmp_path: Path
) -> None:
    path, report = tmp_path / "placement.json", tmp_path / "report.json"
    placement = placed_at_random(prepared, "/device:GPU:{}")
    path.write_text(json.dumps(placement))
    command = ["measure", str(tiny_cnn_path), "--placement", str(path), "--profile", str(profiled.path)]
    assert main([*command, "--cluster", "3xK80", "--steps", "3", "--threads", "1", "--report", str(report)]) == 0
    reported = cast(dict[str, Any], json.loads(report.read_text()))
    assert reported["virtual"]
    assert VIRTUAL in reported["notes"]
    assert reported["threads"] == 1
    here = "/job:localhost/replica:0/task:0/device:CPU:{}"
    assert reported["devices"] == {f"/device:GPU:{index}": here.format(index) for index in range(3)}
    assert reported["mismatches"] == 0
    assert reported["mismatched_ops"] == []
    assert reported["executed_ops"] > 0.9 * prepared.graph.op_count
    assert 0 < reported["fastest_us"] <= reported["step_time_us"] <= reported["slowest_us"]
    assert reported["processor_us"] > 0
    assert reported["simulated_step_time_us"] == simulated_on_three_cpus(prepared, profiled, placement)
    assert reported["measured_over_simulated"] == pytest.approx(
        reported["step_time_us"] / reported["simulated_step_time_us"]
    )
    assert reported["memory"] is None and reported["difference"]["links"]["rest"]["measured_count"] == 0
    assert all(device["measured"]["busy_us"] > 0 for device in reported["difference"]["devices"])


def simulated_on_three_cpus(prepared: api.PreparedGraph, profiled: Profiled, placement: dict[str, str]) -> float:
    """With the links of GPUs and the measured costs of this CPU."""
    cluster = api.parse_cluster("3xK80")
    cpus = dataclasses.replace(
        cluster, devices=tuple(dataclasses.replace(each, kind="CPU") for each in cluster.devices)
    )
    costs = with_measured(prepared.costs, prepared.graph, read_step_stats(profiled.path, LIMITS))
    (report,) = api.simulate(dataclasses.replace(prepared, costs=costs), cpus, [dict(placement)])
    return cast(float, cast(dict[str, Any], report)["step_time_us"])


SIDE = 512
MATRIX_BYTES = 4 * SIDE**2
PRODUCTS = (
    placeholder("x", SIDE, SIDE)
    + node("held", "VarHandleOp", dtype=FLOAT, shape=shape(SIDE, SIDE), container='s: ""', shared_name='s: "held"')
    + node("read", "ReadVariableOp", "held", dtype=FLOAT)
    + node("first", "MatMul", "x", "x", T=FLOAT)
    + node("second", "MatMul", "first", "read", T=FLOAT)
)
"""x · x on one device, whose product is multiplied by a variable of the other"""
ON_SECOND = ("held", "read", "second")


@NEEDS_OWN_NETWORK
def test_each_device_may_be_a_process_of_its_own(tmp_path: Path) -> None:
    path, timelines = tmp_path / "products.pbtxt", tmp_path / "timelines.json"
    path.write_text(PRODUCTS)
    placement: dict[str, Any] = {"x": "/device:CPU:0", "first": "/device:CPU:0"}
    placement |= dict.fromkeys(ON_SECOND, "/device:CPU:1")
    reported: Any = measure(
        path,
        ".pbtxt",
        placement,
        AS_IT_IS,
        LIMITS,
        cluster=api.parse_cluster("2xCPU"),
        steps=3,
        processes=True,
        timelines=timelines,
    )
    processes = {f"/device:CPU:{index}": f"/job:worker/replica:0/task:{index}/device:CPU:0" for index in range(2)}
    assert reported["devices"] == processes and not reported["virtual"] and reported["threads"] == 1
    assert reported["mismatches"] == 0 and reported["executed_ops"] == 5
    assert PROCESSES in reported["notes"] and PARALLEL not in reported["notes"]
    assert 0 < reported["fastest_us"] <= reported["step_time_us"] and reported["processor_us"] > 0
    assert reported["measured_over_simulated"] > 0
    first, second = reported["memory"]
    assert (first["device"], first["simulated_peak_bytes"]) == ("/device:CPU:0", 2 * MATRIX_BYTES)
    assert 2 * MATRIX_BYTES <= first["peak_bytes"] <= 3 * MATRIX_BYTES  # what was sent is freed a little later
    assert (second["device"], second["simulated_peak_bytes"]) == ("/device:CPU:1", 3 * MATRIX_BYTES)
    assert second["peak_bytes"] == 3 * MATRIX_BYTES  # a variable is read where it lies, without a copy
    in_order = [row["simulated_in_measured_order_bytes"] for row in reported["memory"]]
    assert in_order == [row["simulated_peak_bytes"] for row in reported["memory"]]
    assert (
        all(row["resident_peak_bytes"] > row["peak_bytes"] for row in reported["memory"])
        and ALLOCATED in reported["notes"]
    )
    check_difference(reported["difference"], json.loads(timelines.read_text()))


def check_difference(reported: Any, trace: Any) -> None:
    """Of the products above."""
    ran = {row["op"]: row for row in reported["ops"]["rows"] if row["type"] != ADDED}
    assert {op: row["device"][-1] for op, row in ran.items()} == {
        "x": "0",
        "first": "0",
        **dict.fromkeys(ON_SECOND, "1"),
    }
    assert all(row["measured_count"] == row["simulated_count"] == 1 for row in ran.values())
    (link,), (transfer,) = reported["links"]["rows"], reported["transfers"]["rows"]
    assert (link["source"], link["target"]) == ("/device:CPU:0", "/device:CPU:1") and transfer["op"] == "first"
    for row in (link, transfer):
        assert row["measured_bytes"] == row["simulated_bytes"] == MATRIX_BYTES
    for device in reported["devices"]:
        parts = device["measured"]
        assert sum(parts.values()) == pytest.approx(reported["traced_step_time_us"]) and min(parts.values()) >= 0
    ends = {
        each["name"]: each["ts"] + each["dur"] for each in trace["traceEvents"] if each["pid"] == 11 and "dur" in each
    }
    (arrival,) = (each["ts"] for each in trace["traceEvents"] if each["pid"] == 12 and each["ph"] == "e")
    assert 0 < ends["x"] <= ends["first"] < arrival < ends["second"] <= reported["traced_step_time_us"]


@pytest.mark.parametrize(
    ("change", "error", "line"),
    [
        ({"loss": "/device:TPU:0"}, PlacementError, "loss: not a device of one machine: /device:TPU:0"),
        ({"loss": 3}, PlacementError, "loss: not a device of one machine: 3; allowed: /device:CPU:N or /device:GPU:N"),
        ({"loss": "/device:GPU:*"}, PlacementError, "loss: not a device of one machine: /device:GPU:*"),
    ],
)
def test_a_placement_that_cannot_be_run_is_refused_before_anything_runs(
    prepared: api.PreparedGraph, tiny_cnn_path: Path, change: dict[str, Any], error: type[PlacetoError], line: str
) -> None:
    placement: dict[str, Any] = dict.fromkeys(prepared.graph.op_names, "/device:GPU:0")
    with pytest.raises(error) as raised:
        measure(tiny_cnn_path, ".pb", placement | change, AS_IT_IS, LIMITS)
    assert str(raised.value).startswith(line)


def test_numbers_of_steps_and_threads_have_their_range(tiny_cnn_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^steps: 0; allowed: 1 to 1000$"):
        measure(tiny_cnn_path, ".pb", {}, AS_IT_IS, LIMITS, steps=0)
    with pytest.raises(SettingsError, match=r"^threads: 0; allowed: 1 to 1024$"):
        api.profile(tiny_cnn_path, ".pb", Path("never.pb"), AS_IT_IS, LIMITS, lambda *_: None, threads=0)


@pytest.mark.parametrize("command", [["profile", "graph.json", "--out", "never.pb"], ["measure", "graph.json"]])
def test_a_node_link_file_has_nothing_to_run(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    placement = tmp_path / "placement.json"
    placement.write_text('{"a": "/device:CPU:0"}')
    own = ["--placement", str(placement)] if command[0] == "measure" else []
    assert main([*command, *own]) == 2
    line = ".json: node-link JSON holds no ops that can be run; allowed: a TensorFlow graph\n"
    assert capsys.readouterr().err == line
