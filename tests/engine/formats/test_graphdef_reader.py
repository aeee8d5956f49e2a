"""What is read from a good GraphDef."""

from pathlib import Path

import pytest

from engine.child.parent import Limits
from engine.formats.reading import check_upload
from engine.graphs.graph import CONTROL, ComputationGraph
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


def test_a_loop_keeps_its_back_edge_apart_and_its_frame_together(tmp_path: Path) -> None:
    loop_cond = node("cond", "LoopCond", "less")
    graph = read(
        tmp_path,
        constant("start")
        + constant("limit")
        + enter("enter", "start", "frame")
        + node("merge", "Merge", "enter", "next", attributes=type_attribute("T", FLOAT) + count_attribute("N", 2))
        + node("less", "Less", "merge", "limit_in", attributes=type_attribute("T", FLOAT))
        + enter("limit_in", "limit", "frame")
        + loop_cond
        + node("switch", "Switch", "merge", "cond", attributes=type_attribute("T", FLOAT))
        + identity("body", "switch:1")
        + node("next", "NextIteration", "body", attributes=type_attribute("T", FLOAT))
        + node("exit", "Exit", "switch", attributes=type_attribute("T", FLOAT))
        + identity("after", "exit"),
    )
    assert [(graph.op_names[source], graph.op_names[target]) for source, target in graph.back_edges] == [
        ("next", "merge")
    ]
    assert ("next", "merge", 0) not in edges(graph)
    together = {name for pair in pairs(graph) for name in pair}
    assert together == {"enter", "merge", "less", "limit_in", "cond", "switch", "body", "next", "exit"}


def test_a_loop_in_a_loop_stays_with_it_and_two_loops_are_two(tmp_path: Path) -> None:
    graph = read(
        tmp_path,
        constant("start")
        + enter("outer", "start", "one")
        + enter("inner", "outer", "one/two")
        + node("inner_exit", "Exit", "inner", attributes=type_attribute("T", FLOAT))
        + identity("in_outer", "inner_exit")
        + node("outer_exit", "Exit", "in_outer", attributes=type_attribute("T", FLOAT))
        + enter("other", "outer_exit", "three")
        + identity("in_other", "other"),
    )
    assert pairs(graph) == {
        *(("outer", name) for name in ("inner", "inner_exit", "in_outer", "outer_exit")),
        ("other", "in_other"),
    }


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
