"""The placed file has every node's device, and is otherwise the file that it was, byte by byte."""

from pathlib import Path

import pytest

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.errors import GraphError, PlacementError
from engine.events import Json
from engine.formats.writing import write_placed
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.graphdef_writer import DEVICE
from engine.graphs.tensorflow.wire import bytes_field, fields
from tests.engine.formats.graphdef_samples import (
    attribute,
    colocated_with,
    constant,
    devices,
    identity,
    node,
    text,
    total,
    type_attribute,
)
from tests.engine.formats.reading import read_graph

UNKNOWN_FIELD = bytes_field(1000, b"from the future")
LIBRARY = bytes_field(
    2, bytes_field(1, bytes_field(1, text(1, "f")) + bytes_field(3, text(1, "n") + text(4, "/device:CPU:7")))
)
SOURCE = (
    UNKNOWN_FIELD
    + constant("a", device="/job:worker/replica:0/task:3/device:CPU:0", attributes=UNKNOWN_FIELD)
    + LIBRARY
    + constant("b", attributes=attribute("z", text(2, "\x01")) + attribute("a", text(2, "2")))
    + total("sum", "a", "b")
    + node("twice", "NoOp", "^a", device="/gpu:0", attributes=text(4, "/device:GPU:1"))
    + bytes_field(1, text(4, "/device:GPU:1") + text(2, "NoOp") + text(1, "backwards"))
    + bytes_field(4, b"\x08\x1b")
)
PLACEMENT = {
    "a": "/device:GPU:1",
    "b": "/device:GPU:0",
    "sum": "/gpu:1",
    "twice": "/job:ps/task:1/device:CPU:0",
    "backwards": "/device:cpu:2",
}
WRITTEN = [
    "/job:worker/replica:0/task:3/device:GPU:1",
    "/device:GPU:0",
    "/device:GPU:1",
    "/job:ps/task:1/device:CPU:0",
    "/device:CPU:2",
]


def placed(folder: Path, content: bytes, placement: dict[str, str]) -> bytes:
    source, target = folder / "source.pb", folder / "target.pb"
    source.write_bytes(content)
    write_placed(source, ".pb", placement, target, Limits())
    return target.read_bytes()


def without_devices(content: bytes) -> list[tuple[int, object]]:
    """The fields of a GraphDef; a node is the set of its fields' bytes in order, without its devices."""
    found: list[tuple[int, object]] = []
    for field in fields(content):
        if field.number != 1:
            found.append((field.number, content[field.start : field.end]))
            continue
        inner = fields(content, field.payload, field.end)
        found.append((1, [content[each.start : each.end] for each in inner if each.number != DEVICE]))
    return found


def test_devices_are_set_and_every_other_byte_stays(tmp_path: Path) -> None:
    target = placed(tmp_path, SOURCE, PLACEMENT)
    assert devices(target) == [[device] for device in WRITTEN]
    assert without_devices(target) == without_devices(SOURCE)


def test_placing_twice_changes_nothing_more(tmp_path: Path) -> None:
    once = placed(tmp_path, SOURCE, PLACEMENT)
    assert placed(tmp_path, once, PLACEMENT) == once


def test_a_group_carries_one_device_with_the_address_of_any_of_its_ops(tmp_path: Path) -> None:
    source = constant("a", device="/job:ps/task:2") + identity("b", "a") + constant("c", attributes=colocated_with("a"))
    target = placed(tmp_path, source, dict.fromkeys("abc", "/device:GPU:0"))
    assert devices(target) == [["/job:ps/task:2/device:GPU:0"], ["/device:GPU:0"], ["/job:ps/task:2/device:GPU:0"]]


HANDLE = node("h", "VarHandleOp", attributes=type_attribute("dtype", 1))
READ = node("r", "ReadVariableOp", "h", attributes=type_attribute("dtype", 1))
DEVICES = "; allowed: /device:TYPE:N, with /job:, /replica: and /task: before it where there are any"


@pytest.mark.parametrize(
    ("source", "placement", "message"),
    [
        (constant("a"), {}, "a: the op has no device; allowed: a device for each op"),
        (
            constant("a"),
            {"a": "/device:GPU:0", "x": "/device:GPU:0"},
            "x: the op is not in the graph; allowed: ops of the graph",
        ),
        (constant("a"), {"a": "GPU:0"}, f"a: GPU:0 is not a device to place an op on{DEVICES}"),
        (constant("a"), {"a": "/device:GPU:x"}, f"a: /device:GPU:x is not a device to place an op on{DEVICES}"),
        (constant("a"), {"a": ""}, f"a:  is not a device to place an op on{DEVICES}"),
        (constant("a"), {"a": "/job:worker"}, f"a: /job:worker is not a device to place an op on{DEVICES}"),
        (constant("a"), {"a": "/device:GPU:*"}, f"a: /device:GPU:* is not a device to place an op on{DEVICES}"),
        (
            HANDLE + READ,
            {"h": "/device:GPU:0", "r": "/device:GPU:1"},
            "r: it is on /device:GPU:1, but h is on /device:GPU:0; allowed: one device for ops that are co-located",
        ),
    ],
)
def test_a_placement_that_cannot_be_written_is_reported(
    tmp_path: Path, source: bytes, placement: dict[str, str], message: str
) -> None:
    with pytest.raises(PlacementError) as caught:
        placed(tmp_path, source, placement)
    assert str(caught.value) == message
    assert not (tmp_path / "target.pb").exists()


def test_only_the_two_forms_are_written(tmp_path: Path) -> None:
    source = tmp_path / "source.pb"
    source.write_bytes(constant("a"))
    with pytest.raises(GraphError, match=r"\Atarget.json: no reader for '.json'; allowed: .pb, .pbtxt\Z"):
        write_placed(source, ".pb", {"a": "/device:GPU:0"}, tmp_path / "target.json", Limits())


def compare_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Whether two files hold the same nodes and the same rest, devices aside."""
    graphs = []
    for path in (Path(str(order["one"])), Path(str(order["other"]))):
        messages = read_messages(path.read_bytes(), path.suffix)
        for each in messages.nodes:
            each.device = ""
        graphs.append((messages.nodes, messages.rest))
    return {}, {"equal": graphs[0] == graphs[1], "nodes": len(graphs[0][0])}


@pytest.mark.parametrize(("first", "second"), [(".pb", ".pbtxt"), (".pbtxt", ".pb"), (".pbtxt", ".pbtxt")])
def test_through_text_a_training_graph_stays_what_it_was(
    tiny_cnn_path: Path, tmp_path: Path, first: str, second: str
) -> None:
    placement = dict.fromkeys(read_graph(tiny_cnn_path, ".pb", Limits()).op_names, "/device:GPU:1")
    one, two = tmp_path / f"one{first}", tmp_path / f"two{second}"
    write_placed(tiny_cnn_path, ".pb", placement, one, Limits())
    write_placed(one, first, placement, two, Limits())
    order: dict[str, Json] = {"one": str(tiny_cnn_path), "other": str(two)}
    _, texts = run_in_child(f"{__name__}:compare_in_child", order, Limits(), task="comparing", is_warm=True)
    assert texts == {"equal": True, "nodes": len(placement)}
    assert set(read_graph(two, second, Limits()).devices) == {"/device:GPU:1"}


def test_a_training_graph_keeps_every_other_byte(tiny_cnn_path: Path, tmp_path: Path) -> None:
    content = tiny_cnn_path.read_bytes()
    target = placed(
        tmp_path, content, dict.fromkeys(read_graph(tiny_cnn_path, ".pb", Limits()).op_names, "/device:GPU:1")
    )
    assert without_devices(target) == without_devices(content)
    assert devices(target) == [["/device:GPU:1"]] * len(devices(content))
