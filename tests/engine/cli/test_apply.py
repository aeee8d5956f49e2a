"""`apply`: a placement that somebody made is written into the graph's file, or refused in one line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.cli.main import main
from tests.engine.formats.graphdef_samples import colocated_with, constant, devices, identity, node, type_attribute

GRAPH = constant("a", device="/job:worker/task:1/gpu:1") + identity("b", "a") + constant("c")
PLACEMENT = {"a": "/device:GPU:1", "b": "/device:CPU:0", "c": "/gpu:0"}
FULL = [["/job:worker/task:1/device:GPU:1"], ["/device:CPU:0"], ["/device:GPU:0"]]
SHORT = [["/device:GPU:1"], ["/device:CPU:0"], ["/device:GPU:0"]]
Apply = Callable[..., int]


@pytest.fixture
def apply(tmp_path: Path) -> Apply:
    """Runs the command on GRAPH, or another, with a placement, as JSON or as text."""

    def run(placement: object, *options: str, graph: bytes = GRAPH, out: str = "placed.pb") -> int:
        source, stored = tmp_path / "graph.pb", tmp_path / "placement.json"
        source.write_bytes(graph)
        stored.write_text(placement if isinstance(placement, str) else json.dumps(placement))
        return main(["apply", str(source), "--placement", str(stored), "--out", str(tmp_path / out), *options])

    return run


@pytest.mark.parametrize(("options", "written"), [((), FULL), (("--short-devices",), SHORT)])
def test_the_devices_are_written_in_full_or_short(
    apply: Apply, tmp_path: Path, options: tuple[str, ...], written: list[list[str]]
) -> None:
    assert apply(PLACEMENT, *options) == 0
    assert devices((tmp_path / "placed.pb").read_bytes()) == written


def test_fixed_devices_are_dropped_on_request(apply: Apply, tmp_path: Path) -> None:
    assert apply(PLACEMENT | {"a": "/device:GPU:0"}, "--drop-devices") == 0
    assert devices((tmp_path / "placed.pb").read_bytes())[0] == ["/job:worker/task:1/device:GPU:0"]


DEVICES = "allowed: /device:TYPE:N, with /job:, /replica: and /task: before it where there are any"


@pytest.mark.parametrize(
    ("placement", "line"),
    [
        ("{", "line 1, column 2: this is not JSON; allowed: one JSON value"),
        ('{"a": "/gpu:0", "a": "/gpu:1"}', "a: this key is there twice in one object; allowed: each key once"),
        ([PLACEMENT], "placement: it is a list; allowed: JSON {op: device}"),
        (PLACEMENT | {"c": 3}, "c: its device is 3; allowed: a text, such as /device:GPU:0"),
        (PLACEMENT | {"c": "GPU"}, f"c: GPU is not a device to place an op on; {DEVICES}"),
        (PLACEMENT | {"x": "/gpu:0"}, "x: the op is not in the graph; allowed: ops of the graph"),
        ({"a": "/gpu:1"}, "b: the op has no device; allowed: a device for each op"),
        (
            PLACEMENT | {"a": "/gpu:0"},
            "a: it is on /device:GPU:0; allowed: /device:GPU:1, to which the file fixes it, or --drop-devices",
        ),
    ],
)
def test_a_bad_placement_is_one_line(
    apply: Apply, tmp_path: Path, capsys: pytest.CaptureFixture[str], placement: object, line: str
) -> None:
    assert apply(placement) == 2
    assert capsys.readouterr().err == line + "\n"
    assert not (tmp_path / "placed.pb").exists()


def test_ops_that_share_a_device_hold_the_device_that_is_fixed_for_one(
    apply: Apply, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = constant("a", device="/gpu:1") + constant("b", attributes=colocated_with("a"))
    assert apply(dict.fromkeys("ab", "/gpu:0"), graph=graph) == 2
    assert "fixes it" in capsys.readouterr().err
    assert apply({"a": "/gpu:1", "b": "/gpu:0"}, graph=graph) == 2
    assert "allowed: /device:GPU:1, to which the file fixes it" in capsys.readouterr().err


TOWERS = (
    constant("a", device="/job:ps/task:0") + constant("b", device="/job:worker/task:1/device:GPU:0") + constant("c")
)


def test_devices_of_several_machines_are_never_one(
    apply: Apply, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on_gpu = dict.fromkeys("abc", "/gpu:0")
    assert apply(on_gpu, graph=TOWERS) == 0
    of_the_file = [["/job:ps/task:0/device:GPU:0"], ["/job:worker/task:1/device:GPU:0"], ["/device:GPU:0"]]
    assert devices((tmp_path / "placed.pb").read_bytes()) == of_the_file
    assert apply(on_gpu | {"b": "/job:ps/task:0/gpu:0"}, graph=TOWERS) == 2
    assert capsys.readouterr().err == (
        "b: it is on /job:ps/task:0/device:GPU:0; allowed: /job:worker/task:1/device:GPU:0, to which the file fixes "
        "it, or --drop-devices\n"
    )
    assert apply(on_gpu, "--short-devices", graph=TOWERS) == 2
    assert capsys.readouterr().err == (
        "short devices: without job and task the devices of 2 machines would be the same; allowed: devices in full\n"
    )
    assert apply(on_gpu, "--drop-devices", graph=TOWERS) == 0
    assert devices((tmp_path / "placed.pb").read_bytes()) == [["/device:GPU:0"]] * 3


def test_what_no_cpu_can_run_is_not_put_on_one(apply: Apply, capsys: pytest.CaptureFixture[str]) -> None:
    sources = b"".join(constant(name) for name in "abcd")
    layer = node("layer", "CudnnRNN", *"abcd", attributes=type_attribute("T", 1))
    everywhere = dict.fromkeys([*"abcd", "layer"], "/device:CPU:0")
    assert apply(everywhere, graph=sources + layer) == 2
    assert capsys.readouterr().err == (
        "layer: it is on /device:CPU:0, but TensorFlow has no CPU kernel for it; allowed: a GPU\n"
    )
    assert apply(everywhere | {"layer": "/gpu:0"}, graph=sources + layer) == 0


def test_only_a_graph_is_written(apply: Apply, capsys: pytest.CaptureFixture[str]) -> None:
    assert apply(PLACEMENT, out="placed.json") == 2
    assert capsys.readouterr().err == "--out: 'placed.json'; allowed: a name that ends in .pb, .pbtxt, .zip or .onnx\n"


def test_what_cannot_be_written_as_a_saved_model_is_refused_before_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["place", "absent.zip", "--cluster", "2xK80", "--fetch", "train", "--out", str(tmp_path / "placed.zip")]
    assert main(place) == 2
    assert capsys.readouterr().err == (
        "--out: a placed SavedModel has one signature of the file, and fetches take its place, so a placed GraphDef "
        "can be written, but no placed SavedModel; allowed: a name that ends in .pb or .pbtxt\n"
    )
    text = ["place", "saved_model.pbtxt", "--cluster", "2xK80", "--out", str(tmp_path / "placed.zip")]
    assert main(text) == 2
    assert capsys.readouterr().err == (
        "--out: only of a SavedModel (.zip) a placed SavedModel can be written; allowed: a name that ends in .pb or "
        ".pbtxt\n"
    )
