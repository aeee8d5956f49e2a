"""Files that end in .onnx and are no model that can be placed, each with the one sentence that refuses it."""

import pickle
from collections.abc import Callable

from onnx import ModelProto, NodeProto, TensorProto, helper

from engine.graphs.tensorflow.wire import bytes_field
from tests.engine.formats.container_samples import archive
from tests.engine.onnx.building import Builder, without_data

FLOAT = TensorProto.FLOAT


def good() -> ModelProto:
    """A model that is read."""
    model = Builder(0)
    data = model.input("data", [2, 4])
    return model.model(model.node("Relu", model.node("MatMul", data, model.weight(4, 4))))


def changed(change: Callable[[ModelProto], object]) -> bytes:
    """The good model after `change`."""
    model = good()
    change(model)
    return bytes(model.SerializeToString())


def nested(depth: int) -> bytes:
    """Ifs in each other."""
    graph = helper.make_graph(
        [helper.make_node("Neg", ["data"], ["out"])], "g", [], [helper.make_empty_tensor_value_info("out")]
    )
    other = helper.make_graph(list(graph.node), "g", [], list(graph.output))
    for _ in range(depth):
        node = helper.make_node("If", ["flag"], ["out"], then_branch=graph, else_branch=other)
        graph = helper.make_graph([node], "g", [], [helper.make_empty_tensor_value_info("out")])
    graph.input.append(helper.make_tensor_value_info("data", FLOAT, [2]))
    graph.input.append(helper.make_tensor_value_info("flag", TensorProto.BOOL, []))
    return bytes(helper.make_model(graph).SerializeToString())


def named(node: NodeProto, name: str) -> None:
    node.name = name


def renamed_output(model: ModelProto, name: str) -> None:
    model.graph.output[0].name = name


def weight(model: ModelProto, **fields: object) -> None:
    """Replace the weight by one with these fields."""
    del model.graph.initializer[:]
    dims = fields.pop("dims", [4, 4])
    tensor = without_data("weight", FLOAT, dims)  # type: ignore[arg-type]
    for key, value in fields.items():
        setattr(tensor, key, value)
    model.graph.initializer.append(tensor)


def many_weights(model: ModelProto) -> None:
    """Each of 4 · 10¹⁴ bytes."""
    model.graph.initializer.extend(without_data(f"w{index}", FLOAT, [10**14]) for index in range(3))


def cycle(model: ModelProto) -> None:
    model.graph.node[0].input[0] = "Relu:0"


def long_cycle(model: ModelProto) -> None:
    """Seven ops, of which five are shown."""
    for index in range(6):
        model.graph.node.append(helper.make_node("Neg", [f"n{index + 1}" if index < 5 else "n0"], [f"n{index}"]))


def functions(*calls: tuple[str, str], count: int = 1) -> bytes:
    """Functions, each of which calls another `count` times."""
    model = good()
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    for name, called in calls:
        nodes = [
            helper.make_node(called, ["x" if not index else f"y{index}"], [f"y{index + 1}"], domain="own")
            for index in range(count)
        ]
        model.functions.append(helper.make_function("own", name, ["x"], [f"y{count}"], nodes, opsets))
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.node.append(helper.make_node(calls[0][0], ["data"], ["called"], domain="own"))
    return bytes(model.SerializeToString())


def loop_without_body() -> NodeProto:
    """A Loop that lacks its attribute."""
    return helper.make_node("Loop", ["", "", "data"], ["looped"])


def loop(results: int) -> NodeProto:
    """A Loop whose body's output is nowhere."""
    graph = helper.make_graph([], "b", [], [helper.make_empty_tensor_value_info("nowhere")] * results)
    return helper.make_node("Loop", ["", "", "data"], ["looped"], body=graph)


def cut(share: float) -> bytes:
    content = bytes(good().SerializeToString())
    return content[: int(len(content) * share)]


def deeply_nested(depth: int) -> bytes:
    """Graphs in each other, put together byte by byte: protobuf writes no such file."""
    content = good().graph.SerializeToString()
    for _ in range(depth):
        attribute = bytes_field(1, b"then_branch") + bytes_field(6, content)
        content = bytes_field(1, bytes_field(4, b"If") + bytes_field(5, attribute))
    return bytes_field(7, content)


DAMAGED = "the file is not an ONNX model, or it is cut short or damaged; allowed: an ONNX model"
NO_GRAPH = "the file holds no graph: it is not an ONNX model, or it is cut short or damaged; allowed: an ONNX model"
LONG = "n" * 10_000_000

BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "the file is empty; allowed: an ONNX model"),
    "one byte": (lambda: b"\x08", DAMAGED),
    "zeros": (lambda: b"\0" * 4096, DAMAGED),
    "cut at a tenth": (lambda: cut(0.1), DAMAGED),
    "cut at a half": (lambda: cut(0.5), DAMAGED),
    "cut before the end": (lambda: good().SerializeToString()[:-1], DAMAGED),
    "text": (lambda: b"hello, this is a model", DAMAGED),
    "pickle": (
        lambda: pickle.dumps({"weights": [1, 2]}),
        "this is a pickle, which is never read; allowed: an ONNX model",
    ),
    "zip": (lambda: archive(("../../model.onnx", b"x")), "this is a zip archive; allowed: an ONNX model"),
    "page": (lambda: b"<!DOCTYPE html><html>", "this is a page of HTML or XML; allowed: an ONNX model"),
    "pointer": (
        lambda: b"version https://git-lfs.github.com/spec/v1\n",
        "this is a Git LFS pointer: the file itself has not been fetched; allowed: an ONNX model",
    ),
    "JSON": (lambda: b'{"nodes": []}', "this is JSON; allowed: an ONNX model"),
    "HDF5": (lambda: b"\x89HDF\r\n", "this is an HDF5 file; allowed: an ONNX model"),
    "only a version": (lambda: ModelProto(ir_version=8).SerializeToString(), NO_GRAPH),
    "no nodes": (
        lambda: changed(lambda m: m.graph.ClearField("node")),
        "the graph has no ops; allowed: at least one op",
    ),
    "no opset": (
        lambda: changed(lambda m: m.ClearField("opset_import")),
        "opset_import: the model names no version of ONNX's own operators; allowed: a version of the domain ai.onnx",
    ),
    "a tensor in place of a model": (lambda: without_data("weight", FLOAT, [4]).SerializeToString(), DAMAGED),
    "no input": (
        lambda: changed(lambda m: m.graph.ClearField("input")),
        "op 0 (MatMul): its input data is not in the graph; allowed: values of the graph",
    ),
    "no weight": (
        lambda: changed(lambda m: m.graph.ClearField("initializer")),
        "op 0 (MatMul): its input weight is not in the graph; allowed: values of the graph",
    ),
    "a result that nothing makes": (
        lambda: changed(lambda m: renamed_output(m, "gone")),
        "the graph: its output gone is not in the graph; allowed: values of the graph",
    ),
    "an input without a name": (
        lambda: changed(lambda m: setattr(m.graph.input[0], "name", "")),
        "an input has no name; allowed: a name",
    ),
    "two inputs of one name": (
        lambda: changed(lambda m: m.graph.input.append(m.graph.input[0])),
        "data: two values have one name; allowed: each name once",
    ),
    "two weights of one name": (
        lambda: changed(lambda m: m.graph.initializer.append(m.graph.initializer[0])),
        "weight: two values have one name; allowed: each name once",
    ),
    "two outputs of one name": (
        lambda: changed(lambda m: m.graph.node.append(m.graph.node[0])),
        "MatMul:0: two values have one name; allowed: each name once",
    ),
    "an output named as an input": (
        lambda: changed(lambda m: m.graph.node[1].output.append("data")),
        "data: two values have one name; allowed: each name once",
    ),
    "an op without a type": (
        lambda: changed(lambda m: setattr(m.graph.node[1], "op_type", "")),
        "op 1 (Relu): the op has no type; allowed: a type",
    ),
    "a cycle": (
        lambda: changed(cycle),
        "the graph: 2 ops form a cycle: op 0 (MatMul) → op 1 (Relu) → op 0 (MatMul); allowed: an acyclic graph",
    ),
    "an op of its own output": (
        lambda: changed(lambda m: m.graph.node[1].input.append("Relu:0")),
        "the graph: 1 ops form a cycle: op 1 (Relu) → op 1 (Relu); allowed: an acyclic graph",
    ),
    "a long cycle": (
        lambda: changed(long_cycle),
        "the graph: 6 ops form a cycle: op 2 (Neg) → op 7 (Neg) → op 6 (Neg) → op 5 "
        "(Neg) → op 4 (Neg) → … → op 2 (Neg); allowed: an acyclic graph",
    ),
    "a negative length": (
        lambda: changed(lambda m: weight(m, dims=[4, -4])),
        "weight: a length of the initialiser is negative: [4, -4]; allowed: lengths from 0",
    ),
    "a huge weight": (
        lambda: changed(lambda m: weight(m, dims=[2**62, 2**62])),
        "weight: the initialiser has too many bytes; allowed: at most 1000000000000000",
    ),
    "many large weights": (
        lambda: changed(many_weights),
        "the graph: all initialisers together have too many bytes; allowed: at most 1000000000000000",
    ),
    "a weight of many lengths": (
        lambda: changed(lambda m: weight(m, dims=[2**60] * 10**5)),
        "weight: the initialiser has 100000 lengths; allowed: at most 64",
    ),
    "a type that is not UTF-8": (
        lambda: good().SerializeToString().replace(b"\x04Relu", b"\x04Re\xff\xfe"),
        "a text is not UTF-8: b'Re\\xff\\xfe'; allowed: UTF-8",
    ),
    "an unknown element type": (
        lambda: changed(lambda m: weight(m, data_type=99)),
        "weight: the initialiser has the element type 99; allowed: an element type of ONNX",
    ),
    "no element type": (
        lambda: changed(lambda m: weight(m, data_type=0)),
        "weight: the initialiser has the element type 0; allowed: an element type of ONNX",
    ),
    "a name of 10 MB": (
        lambda: changed(lambda m: named(m.graph.node[0], LONG)),
        f"{'n' * 79}…: the name has 10000000 characters; allowed: at most 100000",
    ),
    "a value's name of 10 MB": (
        lambda: changed(lambda m: m.graph.node[0].output.append(LONG)),
        f"{'n' * 79}…: the name has 10000000 characters; allowed: at most 100000",
    ),
    "an input of 10 MB that is not there": (
        lambda: changed(lambda m: m.graph.node[0].input.append(LONG)),
        f"op 0 (MatMul): its input {'n' * 79}… is not in the graph; allowed: values of the graph",
    ),
    "a name of HTML that is not there": (
        lambda: changed(lambda m: m.graph.node[0].input.append("<script>\n")),
        "op 0 (MatMul): its input <script>\N{REPLACEMENT CHARACTER} is not in the graph; allowed: values of the graph",
    ),
    "bodies 20 deep": (
        lambda: nested(20),
        ""
        "If_0/then/If_0/then/If_0/then/If_0/then/…f_0/then/If_0/then/If_0/then/If_0/then/"
        ": bodies of loops and branches are nested deeper than 16 levels; allowed: at most 16 levels",
    ),
    "bodies 60 deep": (lambda: deeply_nested(60), DAMAGED),
    "a loop without a body": (
        lambda: changed(lambda m: m.graph.node.append(loop_without_body())),
        "op 2 (Loop): it needs one graph body and has 0; allowed: one",
    ),
    "a body that gives nothing that is there": (
        lambda: changed(lambda m: m.graph.node.append(loop(1))),
        "op 2 (Loop): its output nowhere is not in the graph; allowed: values of the graph",
    ),
    "a function that calls itself": (
        lambda: functions(("f", "f")),
        "f: a function calls itself; allowed: functions without recursion",
    ),
    "functions that call each other": (
        lambda: functions(("f", "g"), ("g", "f")),
        "f: a function calls itself; allowed: functions without recursion",
    ),
    "functions that double": (
        lambda: functions(*((f"f{index}", f"f{index + 1}") for index in range(40)), count=2),
        "more than 1000000 ops; allowed: at most 1000000 ops",
    ),
    "two functions of one name": (
        lambda: functions(("f", "g"), ("f", "g")),
        "functions: two functions have this name; allowed: unique names",
    ),
}
"""what is wrong → the bytes, and the sentence, or its beginning"""
