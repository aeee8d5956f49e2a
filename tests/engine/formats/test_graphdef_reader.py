"""What is read from a good GraphDef."""

from pathlib import Path

import numpy as np
import pytest

from engine.child.parent import Limits
from engine.formats.notes_on_devices import notes_on_devices
from engine.formats.reading import check_upload
from engine.graphs.colocation import colocation_classes
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.tensorflow.messages import load_messages
from engine.graphs.tensorflow.wire import bytes_field
from tests.engine.formats.graphdef_samples import (
    attribute,
    colocated_with,
    constant,
    count_attribute,
    identity,
    node,
    text,
    total,
    type_attribute,
)
from tests.engine.formats.reading import read_graph

FLOAT, RESOURCE = 1, 20


def read(folder: Path, content: bytes, suffix: str = ".pb") -> ComputationGraph:
    path = folder / f"model{suffix}"
    path.write_bytes(content)
    check_upload(path, suffix, Limits())
    return read_graph(path, suffix, Limits())


def edges(graph: ComputationGraph) -> list[tuple[str, str, int]]:
    """(producer, consumer, output)"""
    names = graph.op_names
    return [
        (names[source], names[target], output)
        for source, target, output in zip(
            graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True
        )
    ]


def pairs(graph: ComputationGraph) -> set[tuple[str, str]]:
    """Names of the ops that must share a device, each pair in order of the file."""
    return {(graph.op_names[one], graph.op_names[other]) for one, other in graph.must_colocate.tolist()}


def variable(name: str, attributes: bytes = b"") -> bytes:
    return node(name, "VariableV2", attributes=type_attribute("dtype", FLOAT) + attributes)


def handle(name: str, shared_name: str = "", container: str = "") -> bytes:
    shared = attribute("shared_name", text(2, shared_name)) + attribute("container", text(2, container))
    return node(name, "VarHandleOp", attributes=type_attribute("dtype", FLOAT) + shared)


def enter(name: str, source: str, frame: str) -> bytes:
    return node(name, "Enter", source, attributes=type_attribute("T", FLOAT) + attribute("frame_name", text(2, frame)))


def test_ops_edges_devices_and_labels_in_the_order_of_the_file(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        total("sum", "a", "split:1", "split", "a")
        + constant("a", device="/job:worker/task:1/gpu:0", attributes=colocated_with("sum", "a"))
        + node("split", "Split", "axis", "a", attributes=type_attribute("T", FLOAT) + count_attribute("num_split", 2))
        + node("axis", "Const", "^start", attributes=type_attribute("dtype", 3))
        + node("start")
        + node("end", "NoOp", "^sum", "^start"),
    )
    assert graph.name == "model"
    assert graph.op_names == ("sum", "a", "split", "axis", "start", "end")
    assert graph.op_types == ("AddN", "Const", "Split", "Const", "NoOp", "NoOp")
    assert edges(graph) == [
        ("a", "sum", 0),
        ("split", "sum", 1),
        ("split", "sum", 0),
        ("axis", "split", 0),
        ("a", "split", 0),
        ("start", "axis", CONTROL),
        ("sum", "end", CONTROL),
        ("start", "end", CONTROL),
    ]
    assert graph.devices == ("", "/job:worker/task:1/gpu:0", "", "", "", "")
    assert graph.colocation == ((), ("sum", "a"), (), (), (), ())
    assert pairs(graph) == set()


def test_an_op_that_is_fixed_elsewhere_than_its_variable_goes_to_the_variable(tmp_path: Path) -> None:
    reads = type_attribute("dtype", FLOAT)
    graph = read(
        tmp_path,
        node("v", "VarHandleOp", attributes=type_attribute("dtype", FLOAT), device="/job:w/CPU:0")
        + node("passed", "Identity", "v", attributes=type_attribute("T", RESOURCE))
        + node("moved", "ReadVariableOp", "passed", attributes=reads, device="/device:CPU:1")
        + node("kept", "ReadVariableOp", "v", attributes=reads, device="/CPU:0")
        + constant("other", device="/device:CPU:1"),
    )
    assert graph.devices == ("/job:w/CPU:0", "", "", "/CPU:0", "/device:CPU:1")
    assert graph.moved_ops == 1


def test_a_variable_without_a_device_is_where_the_first_is_that_uses_it(tmp_path: Path) -> None:
    reads = type_attribute("dtype", FLOAT)
    graph = read(
        tmp_path,
        handle("v", "weights")
        + handle("again", "weights")
        + node("first", "ReadVariableOp", "v", attributes=reads, device="/device:CPU:0")
        + node("second", "ReadVariableOp", "again", attributes=reads, device="/device:CPU:1"),
    )
    assert graph.devices == ("", "", "/device:CPU:0", "")
    assert graph.moved_ops == 1


def test_a_resource_may_be_taken_twice_before_its_line_and_go_round_a_loop(tmp_path: Path) -> None:
    resource = type_attribute("T", RESOURCE)
    graph = read(
        tmp_path,
        node("both", "Unheard", "v", "passed", device="/device:CPU:0")
        + node("passed", "Identity", "v", attributes=resource)
        + node("v", "VarHandleOp", attributes=type_attribute("dtype", FLOAT), device="/device:CPU:1")
        + node("enter", "Enter", "v", attributes=resource + attribute("frame_name", text(2, "frame")))
        + node("merge", "Merge", "enter", "next", attributes=resource + count_attribute("N", 2))
        + node("next", "NextIteration", "merge", attributes=resource, device="/device:CPU:0"),
    )
    assert graph.devices == ("", "", "/device:CPU:1", "", "", "")
    assert graph.moved_ops == 2


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_text_is_read_like_binary(tmp_path: Path, line_end: str, mark: str) -> None:
    lines = [
        "# a comment with { a brace",
        'node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } }',
        'node { name: "b" op: "Identity" input: "a" attr { key: "T" value { type: DT_FLOAT } }',
        '  attr { key: "_class" value { list { s: "loc:@a" } } } device: "/device:GPU:1" }',
        "versions { producer: 27 }",
    ]
    graph = read(tmp_path, (mark + line_end.join(lines)).encode(), ".pbtxt")
    assert edges(graph) == [("a", "b", 0)]
    assert graph.devices == ("", "/device:GPU:1")
    assert graph.colocation == ((), ("a",))


def test_names_that_only_differ_by_case_and_names_of_javascript_are_names(tmp_path: Path) -> None:
    names = ("a", "A", "constructor", "../../etc/passwd", "a-b>c", "0")
    assert read(tmp_path, b"".join(constant(name) for name in names)).op_names == names


def test_unknown_fields_and_ops_are_read(tmp_path: Path) -> None:
    graph = read(tmp_path, node("x", "Unheard.Of>Op", "y:7") + node("y", "Mystery") + bytes_field(77, b"abc"))
    assert edges(graph) == [("y", "x", 7)]


LOOP = (
    constant("start")
    + constant("limit")
    + enter("enter", "start", "frame")
    + node("merge", "Merge", "enter", "next", attributes=type_attribute("T", FLOAT) + count_attribute("N", 2))
    + node("less", "Less", "merge", "limit_in", attributes=type_attribute("T", FLOAT))
    + enter("limit_in", "limit", "frame")
    + node("cond", "LoopCond", "less")
    + node("switch", "Switch", "merge", "cond", attributes=type_attribute("T", FLOAT))
    + identity("body", "switch:1")
    + node("next", "NextIteration", "body", attributes=type_attribute("T", FLOAT))
    + node("exit", "Exit", "switch", attributes=type_attribute("T", FLOAT))
    + identity("after", "exit")
)
"""one loop variable, and a limit from outside"""


def classes(graph: ComputationGraph) -> set[frozenset[str]]:
    """The names in each co-location class of several ops."""
    class_of_op = colocation_classes(graph)
    return {
        frozenset(name for name, class_ in zip(graph.op_names, class_of_op, strict=True) if class_ == each)
        for each, count in enumerate(np.bincount(class_of_op))
        if count > 1
    }


def test_a_loop_keeps_its_back_edge_apart_and_each_variable_together(tmp_path: Path) -> None:
    graph = read(tmp_path, LOOP)
    assert [(graph.op_names[source], graph.op_names[target]) for source, target in graph.back_edges] == [
        ("next", "merge")
    ]
    assert ("next", "merge", 0) not in edges(graph)
    assert classes(graph) == {
        frozenset({"enter", "merge", "switch", "next", "exit"}),
        frozenset({"limit_in", "less"}),
    }


def test_two_variables_of_a_loop_and_an_inner_loop_are_apart(tmp_path: Path) -> None:
    def variable_of_loop(name: str, source: str, frame: str, taken: str) -> bytes:
        number = type_attribute("T", FLOAT)
        return (
            enter(f"{name}_enter", source, frame)
            + node(
                f"{name}_merge", "Merge", f"{name}_enter", f"{name}_next", attributes=number + count_attribute("N", 2)
            )
            + node(f"{name}_switch", "Switch", f"{name}_merge", f"{frame}_cond", attributes=number)
            + identity(f"{name}_body", f"{name}_switch:1")
            + node(f"{name}_next", "NextIteration", taken, attributes=number)
            + node(f"{name}_exit", "Exit", f"{name}_switch", attributes=number)
        )

    graph = read(
        tmp_path,
        constant("start")
        + constant("more", attributes=type_attribute("dtype", 10))
        + variable_of_loop("a", "start", "outer", "b_body")
        + variable_of_loop("b", "start", "outer", "inner_exit")
        + variable_of_loop("inner", "a_body", "inner", "inner_body")
        + node("outer_cond", "LoopCond", "more")
        + node("inner_cond", "LoopCond", "more"),
    )
    assert classes(graph) == {
        frozenset(f"{name}_{op}" for op in ("enter", "merge", "switch", "next", "exit")) for name in ("a", "b", "inner")
    }


def test_an_enter_stays_with_the_consumer_that_tensorflow_makes_first(tmp_path: Path) -> None:
    """That is not the file's first: `late` waits for `early`."""
    graph = read(
        tmp_path,
        constant("value")
        + total("late", "early", "enter")
        + enter("enter", "value", "frame")
        + total("early", "enter", "enter")
        + node("waits", "NoOp", "^enter"),
    )
    assert classes(graph) == {frozenset({"enter", "early"})}
    assert graph.wide_enters == ()


@pytest.mark.parametrize(
    ("consumers", "together"), [(8, {"enter", "use_0"}), (9, {"enter", *map("use_{}".format, range(9))})]
)
def test_an_enter_of_many_consumers_stays_with_all(tmp_path: Path, consumers: int, together: set[str]) -> None:
    uses = b"".join(identity(f"use_{number}", "enter") for number in range(consumers))
    graph = read(tmp_path, constant("value") + enter("enter", "value", "frame") + uses)
    assert classes(graph) == {frozenset(together)}
    assert graph.wide_enters == ("enter",) * (consumers > 8)


def on(device: str, name: str, content: bytes) -> bytes:
    """The GraphDef `content` with that device for the node `name`."""
    graph = load_messages("tensorflow.core.framework.graph_pb2").GraphDef.FromString(content)
    for each in graph.node:
        if each.name == name:
            each.device = device
    return bytes(graph.SerializeToString())


def test_ops_of_a_loop_that_are_fixed_elsewhere_go_to_their_merge(tmp_path: Path) -> None:
    content = LOOP
    for name, device in (
        *(("enter", "/GPU:1"), ("merge", "/device:GPU:0"), ("switch", "/GPU:1"), ("exit", "/GPU:0")),
        *(("next", "/GPU:2"), ("body", "/GPU:1"), ("limit_in", "/GPU:0"), ("less", "/GPU:2")),
    ):
        content = on(device, name, content)
    graph = read(tmp_path, content)
    kept = {name: device for name, device in zip(graph.op_names, graph.devices, strict=True) if device}
    assert kept == {"merge": "/device:GPU:0", "exit": "/GPU:0", "body": "/GPU:1", "less": "/GPU:2"}
    assert (graph.moved_ops, sorted(graph.moved_in_control_flow)) == (0, ["/GPU:2", *["/device:GPU:0"] * 3])


def test_notes_say_which_device_is_taken_and_which_ops_stay_together(tmp_path: Path) -> None:
    content = on("/GPU:1", "next", on("/GPU:1", "enter", on("/GPU:0", "merge", LOOP)))
    uses = b"".join(identity(f"use_{number}", "limit_in") for number in range(8))
    reads = type_attribute("dtype", FLOAT)
    graph = read(
        tmp_path,
        content
        + uses
        + node("v", "VarHandleOp", attributes=reads, device="/GPU:0")
        + node("read", "ReadVariableOp", "v", attributes=reads, device="/GPU:1"),
    )
    assert notes_on_devices(graph) == (
        "An op is fixed to another device than the variable that it uses; TensorFlow runs it with the variable.",
        "2 ops are fixed to another device than the ops of a loop or condition with which TensorFlow runs them; "
        "they go there: 2 to /GPU:0.",
        "An Enter with more than 8 consumers stays with all of them on one device, because TensorFlow may run it "
        "with any of them: limit_in.",
    )
    assert notes_on_devices(read(tmp_path, LOOP)) == ()


def test_a_switch_goes_to_its_data_and_a_label_of_its_own_does_not_matter(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        constant("data", device="/GPU:0")
        + constant("which", attributes=type_attribute("dtype", 10))
        + node("plain", "Switch", "data", "which", attributes=type_attribute("T", FLOAT), device="/GPU:1")
        + node(
            "labelled",
            "Switch",
            "data",
            "which",
            attributes=type_attribute("T", FLOAT) + colocated_with("data"),
            device="/GPU:1",
        ),
    )
    assert graph.devices == ("/GPU:0", "", "", "")
    assert graph.moved_in_control_flow == ("/GPU:0", "/GPU:0")


def test_ref_edges_tie_where_the_consumer_takes_a_ref(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        variable("v")
        + constant("c")
        + node("assign", "Assign", "v", "c", attributes=type_attribute("T", FLOAT))
        + identity("read", "v")
        + node("again", "AssignAdd", "assign", "read", attributes=type_attribute("T", FLOAT))
        + node("unknown", "Mystery", "v", "c"),
    )
    assert pairs(graph) == {("v", "assign"), ("assign", "again"), ("v", "unknown")}


def test_resource_edges_tie_whatever_passes_the_handle_on(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        handle("h")
        + identity("alias", "h", number=RESOURCE)
        + node("read", "ReadVariableOp", "alias", attributes=type_attribute("dtype", FLOAT))
        + identity("value", "read")
        + node(
            "call",
            "PartitionedCall",
            "h",
            attributes=attribute("Tin", bytes_field(1, bytes([0x32, 1, RESOURCE])))
            + attribute("Tout", bytes_field(1, b"")),
        ),
    )
    assert pairs(graph) == {("h", "alias"), ("alias", "read")}


def test_a_call_that_xla_compiles_stays_with_its_resources(tmp_path: Path) -> None:
    inputs = attribute("Tin", bytes_field(1, bytes([0x32, 1, RESOURCE]))) + attribute("Tout", bytes_field(1, b""))
    mark = attribute("_XlaMustCompile", bytes([0x28, 1]))
    graph = read(tmp_path, handle("h") + node("call", "StatefulPartitionedCall", "h", attributes=inputs + mark))
    assert pairs(graph) == {("h", "call")}


def test_handles_that_name_one_resource_stay_together(tmp_path: Path) -> None:
    own = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
    graph = read(
        tmp_path,
        handle("a", "x")
        + handle("b", "x")
        + handle("c", "x", container="other")
        + handle("d")
        + handle("e")
        + handle("f", own)
        + handle("g", own)
        + handle("h", "x"),
    )
    assert pairs(graph) == {("a", "b"), ("a", "h")}


def test_a_switch_stays_with_its_data(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        constant("data")
        + constant("which")
        + node("switch", "Switch", "data", "which", attributes=type_attribute("T", 1)),
    )
    assert pairs(graph) == {("data", "switch")}


def test_functions_of_the_library_have_their_own_signatures(tmp_path: Path) -> None:
    argument = text(1, "x") + bytes([0x18, RESOURCE])  # ArgDef: name, type
    signature = text(1, "my_function") + bytes_field(2, argument)  # OpDef: name, input_arg
    library = bytes_field(2, bytes_field(1, bytes_field(1, signature)))
    graph = read(tmp_path, handle("h") + node("call", "my_function", "h") + library)
    assert pairs(graph) == {("h", "call")}


def test_ten_thousand_isolated_nodes_and_a_long_chain(tmp_path: Path) -> None:
    assert read(tmp_path, b"".join(constant(f"n{index}") for index in range(10_000))).edge_count == 0
    chain = constant("n0") + b"".join(identity(f"n{index}", f"n{index - 1}") for index in range(1, 20_000))
    assert read(tmp_path, chain).edge_count == 19_999
