"""The command line: reports, files and exit statuses, and one line for each mistake."""

import json
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.placers.registry import PLACERS
from tests.engine.cli.small_files import GRAPH, LEFT_TO_PEOPLE, SMALL_CLUSTER


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "five.json"
    path.write_text(json.dumps(GRAPH))
    return str(path)


def test_place_writes_a_report_and_a_placement_that_simulate_confirms(graph: str, tmp_path: Path) -> None:
    report, out, again = tmp_path / "report.json", tmp_path / "placement.json", tmp_path / "again.json"
    command = ["place", graph, "--cluster", "2xK80", "--groups", "all", "--method", "random", "--evaluations", "30"]
    assert main([*command, "--seed", "3", "--report", str(report), "--out", str(out)]) == 0
    reported = json.loads(report.read_text())
    assert reported["method"] == "random"
    assert reported["seed"] == 3
    assert reported["evaluations"] == 30
    assert reported["placement"] == json.loads(out.read_text())
    trace = tmp_path / "trace.json"
    command = ["simulate", graph, "--cluster", "2xK80", "--placement", str(out)]
    assert main([*command, "--report", str(again), "--trace", str(trace)]) == 0
    simulated = json.loads(again.read_text())
    for key in ("step_time_us", "peak_bytes", "lower_bound_us"):
        assert simulated[key] == reported[key]
    assert simulated["lower_bound_us"] <= simulated["step_time_us"]
    spans = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    assert {span["name"] for span in spans} >= {f"op_{index}" for index in range(5)}


def test_place_says_how_robust_its_answer_is_and_can_choose_by_it(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    command = ["place", graph, "--cluster", "2xK80", "--groups", "all", "--method", "random", "--evaluations", "30"]
    for options in ([], ["--robust"]):
        assert main([*command, "--report", str(report), *options]) == 0
        reported = json.loads(report.read_text())
        found = reported["robustness"]
        assert 2 <= found["candidates"] <= 10 and found["draws"] == 32
        assert reported["step_time_us"] >= found["fastest_step_time_us"]
        line = f" the best of {found['candidates']} good placements"
        assert line in capsys.readouterr().err


def test_place_says_its_verdict_and_writes_the_placement_that_is_preferred(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = [{"id": f"small_{index}", "time_us": 1, "output_bytes": [8]} for index in range(6)]
    nodes = [{"id": name, "time_us": 1000, "output_bytes": [8]} for name in ("one", "other")] + small
    edges = [{"source": "one", "target": node["id"], "output": 0} for node in small]
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "edges": edges}))
    start, report, out = (tmp_path / f"{name}.json" for name in ("start", "report", "out"))
    devices = {node["id"]: f"/device:GPU:{int(node['id'] in ('other', 'small_0', 'small_3'))}" for node in nodes}
    start.write_text(json.dumps(devices))
    command = ["place", str(path), "--cluster", "2xK80", "--groups", "all", "--method", "random", "--evaluations", "4"]
    command += ["--start", str(start), "--report", str(report), "--out", str(out), "--prefer"]
    written = {}
    for prefer in ("fastest", "simplest=5%"):
        assert main([*command, prefer]) == 0
        reported = json.loads(report.read_text())
        written[prefer] = json.loads(out.read_text())
        assert reported["prefer"] == prefer
        printed = capsys.readouterr().err
        assert reported["verdict"]["sentence"] in printed
        assert "\nanswer: " in printed and ", 2 devices, 2 crossing edges; simplest within " in printed
    assert written["fastest"] == reported["placement"] == devices, "the method's own answer stays"
    assert (reported["crossing_edges"], reported["simplest"]["crossing_edges"]) == (2, 0)
    assert written["simplest=5%"] == reported["simplest"]["placement"] != devices
    assert reported["simplest"]["tolerance"] == 0.05
    assert main([*command[: command.index("--report")]]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"placement", "device_of_group", "parts"}.isdisjoint({*shown, *shown["simplest"]})


def test_a_list_of_placements_gives_a_list_of_reports(graph: str, tmp_path: Path) -> None:
    everything = {f"op_{index}": "/device:GPU:0" for index in range(5)}
    path, report = tmp_path / "placements.json", tmp_path / "report.json"
    path.write_text(json.dumps([everything, everything | {"op_4": "/device:GPU:1"}]))
    command = ["simulate", graph, "--cluster", "2xK80", "--placement", str(path), "--report", str(report)]
    assert main(command) == 0
    one, two = json.loads(report.read_text())
    assert one["step_time_us"] == pytest.approx(1500 + 5 * 5.7)
    assert two["step_time_us"] == pytest.approx(1500 + 4 * 5.7 + 1000 / 7600)  # the last op does not wait for a rest


def test_a_reserve_is_taken_from_each_gpu(graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    placement = tmp_path / "placement.json"
    placement.write_text(json.dumps({f"op_{index}": "/device:GPU:0" for index in range(5)}))
    command = ["simulate", graph, "--cluster", "2xK80", "--placement", str(placement)]
    assert main([*command, "--reserve", "1.5 GiB"]) == 0
    assert "more than" not in capsys.readouterr().err
    assert main([*command, "--reserve", "12288MiB"]) == 2
    assert "reserved_bytes of /device:GPU:0: 12884901888 bytes are reserved" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*command, "--reserve", "much"])
    assert "'much'; allowed: a size such as 1.5GB or 800MiB" in capsys.readouterr().err


def test_methods_lists_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(PLACERS)
    assert ["--start" in line for line in lines] == [method.searches_from_start for method in PLACERS.values()]


@pytest.mark.parametrize("method", ["heft", "local_search"])
def test_a_method_that_does_not_search_from_a_start_says_so(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    start = tmp_path / "start.json"
    start.write_text(json.dumps({f"op_{index}": "/device:GPU:1" for index in range(5)}))
    command = ["place", graph, "--cluster", "2xK80", "--method", method, "--evaluations", "9", "--start", str(start)]
    assert main(command) == 0
    sentence = f"{method} evaluates --start, then does not search from there"
    assert (sentence in capsys.readouterr().err) is not PLACERS[method].searches_from_start


def test_no_room_is_exit_status_3(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["place", graph, "--cluster", SMALL_CLUSTER, "--method", "random", "--evaluations", "5"]
    assert main(command) == 3
    assert "the variables need 250 B, more than the 100 B of all devices together" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--cluster", "0xK80"], "K80: 0 devices; allowed: 1 to 256 devices"),
        (["--evaluations", "0"], "evaluations: 0 evaluations; allowed: 1 to 100000000"),
        (["--seed", "-1"], f"seed: -1; allowed: an integer from 0 to {2**63 - 1}"),
        (["--seconds", "nan"], "seconds: nan seconds; allowed: a number above 0"),
        (
            ["--method", "magic"],
            f"method: there is no method 'magic'; allowed: {', '.join(PLACERS)}",
        ),
        (["--set", "preset"], "--set: 'preset' has no =; allowed: NAME=JSON, such as preset=paper"),
        (["--method", "random", "--set", "batch=0"], "random batch: 0; allowed: an integer from 1 to 100000"),
        (
            ["--out", "placed.txt"],
            "--out: 'placed.txt'; allowed: a name that ends in .pb, .pbtxt, .zip, .onnx or .json",
        ),
        (
            ["--out", "/nowhere/a.json"],
            "--out: /nowhere/a.json cannot be written; allowed: a file in a folder that is there",
        ),
        (["--prefer", "slowest"], "prefer: slowest; allowed: fastest, simplest, or simplest=1%, from 0 to 100 %"),
        (["--report", "/"], "--report: / cannot be written; allowed: a file in a folder that is there"),
        (["--out", "placed.pb"], "--out: node-link JSON holds no GraphDef; allowed: a name that ends in .json"),
    ],
)
def test_a_mistake_is_one_line_and_exit_status_2(
    graph: str, capsys: pytest.CaptureFixture[str], options: list[str], line: str
) -> None:
    command = ["place", graph, *([] if "--cluster" in options else ["--cluster", "2xK80"]), *options]
    assert main(command) == 2
    assert capsys.readouterr().err == line + "\n"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"\xff\xfe\x00", "cluster.json: the file is not text; allowed: JSON in UTF-8"),
        (b"", "cluster: no devices; allowed: a shorthand such as 2xK80 or 4xV100+cpu, or cluster JSON"),
    ],
)
@pytest.mark.parametrize("command", ["place", "measure"])
def test_a_bad_cluster_file_is_one_line(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, line: str, command: str
) -> None:
    path = tmp_path / "cluster.json"
    path.write_bytes(content)
    placement = ["--placement", graph] if command == "measure" else []
    assert main([command, graph, "--cluster", str(path), *placement]) == 2
    assert capsys.readouterr().err == line + "\n"


def test_a_placement_that_is_not_of_the_graph_is_refused(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "placement.json"
    command = ["simulate", graph, "--cluster", "2xK80", "--placement", str(path)]
    for placement, line in [
        ({"op_9": "/device:GPU:0"}, "op_9: no such op in the graph; allowed: 5 ops"),
        ({"op_0": "/device:GPU:5"}, "op_0: no such device: /device:GPU:5; allowed: /device:GPU:0, /device:GPU:1"),
        ({"op_0": "/device:GPU:0"}, "op_1: it is not placed; allowed: a device for every op of the graph"),
        ([[]], "placement: no object; allowed: JSON {op: device}"),
        ([], "placement: an empty list; allowed: at least one placement"),
    ]:
        path.write_text(json.dumps(placement))
        assert main(command) == 2
        assert capsys.readouterr().err.splitlines()[-1] == line


def test_a_file_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["place", "nowhere.pb", "--cluster", "2xK80"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("nowhere.pb: there is no such file")


def test_ops_of_unknown_cost_and_ops_for_a_cpu_are_reported_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.pbtxt"
    path.write_text(LEFT_TO_PEOPLE)
    command = ["place", str(path), "--cluster", "2xK80+cpu", "--method", "single_device", "--evaluations", "5"]
    assert main(command) == 0
    lines = capsys.readouterr().err.splitlines()
    start = lines.index("Ops without a known cost: 12. Their times and bytes are lower bounds.")
    assert lines[start + 1 : start + 14] == [
        *(f"  odd_{index:02} (Odd): TensorFlow does not know ops of this type" for index in range(10)),
        "  and 2 more",
        "Ops that need a CPU: 1. They go to the cluster's CPUs, if it has any.",
        "  it works on strings: 1: text",
    ]
