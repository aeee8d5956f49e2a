"""Reads the bytes of an ONNX file into one message, or says clearly why they are none. Runs in the child."""

from google.protobuf.message import DecodeError
from onnx import FunctionProto, GraphProto, ModelProto

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.graphdef_messages import noun_of_first_bytes
from engine.graphs.tensorflow.text_messages import MOST_OPS

ALLOWED = "an ONNX model"
DEFAULT_DOMAINS = ("", "ai.onnx")
"""names of ONNX's own domain of operators"""


def read_model(content: bytes) -> ModelProto:
    """The model in `content`; a path in it is never opened. Raises GraphError."""
    if not content:
        raise GraphError("the file is empty", allowed=ALLOWED, field="file")
    if (noun := noun_of_first_bytes(content, ".onnx")) is not None:
        raise GraphError(f"this is {noun}", allowed=ALLOWED, field="file")
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        what = "the file is not an ONNX model, or it is cut short or damaged"
        raise GraphError(what, allowed=ALLOWED, field="file") from None
    _require_texts(model.graph)
    for function in model.functions:
        _require_utf_8(function.name, function.domain, *function.input, *function.output)
        _require_texts(function)
    _require_utf_8(*(each.domain for each in model.opset_import))
    _require_graph(model)
    return model


def _require_texts(graph: GraphProto | FunctionProto) -> None:
    """Raise GraphError for a name that is not UTF-8: protobuf gives its bytes in place of a text."""
    for node in graph.node:
        _require_utf_8(node.name, node.op_type, node.domain, *node.input, *node.output)
        for attribute in node.attribute:
            _require_utf_8(attribute.name, attribute.ref_attr_name)
            for inner in (attribute.g,) if attribute.HasField("g") else attribute.graphs:
                _require_texts(inner)
    if isinstance(graph, FunctionProto):
        return
    _require_utf_8(*(tensor.name for tensor in graph.initializer))
    _require_utf_8(*(tensor.values.name for tensor in graph.sparse_initializer))
    for value in (*graph.input, *graph.output, *graph.value_info):
        _require_utf_8(value.name, *(length.dim_param for length in value.type.tensor_type.shape.dim))


def _require_utf_8(*texts: object) -> None:
    for text in texts:
        if not isinstance(text, str):
            what = f"a text is not UTF-8: {shortened(ascii(text))}"
            raise GraphError(what, allowed="UTF-8", field="file")


def _require_graph(model: ModelProto) -> None:
    if not model.HasField("graph") or not (model.graph.node or model.graph.input or model.graph.output):
        what = "the file holds no graph: it is not an ONNX model, or it is cut short or damaged"
        raise GraphError(what, allowed=ALLOWED, field="file")
    if not model.graph.node:
        raise GraphError("the graph has no ops", allowed="at least one op", field="file")
    if len(model.graph.node) > MOST_OPS:
        raise GraphError(f"more than {MOST_OPS} ops", allowed=f"at most {MOST_OPS} ops", field="file")
    versions = opset_versions(model)
    if any(node.domain in DEFAULT_DOMAINS for node in model.graph.node) and "" not in versions:
        what = "the model names no version of ONNX's own operators"
        raise GraphError(what, where="opset_import", allowed="a version of the domain ai.onnx", field="file")


def opset_versions(model: ModelProto) -> dict[str, int]:
    """Domain → version of its operators that the model uses; ONNX's own domain is the empty one."""
    return {"" if each.domain in DEFAULT_DOMAINS else each.domain: each.version for each in model.opset_import}
