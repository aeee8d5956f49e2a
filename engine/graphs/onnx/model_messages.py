"""Reads the bytes of an ONNX file into one message, or says clearly why they are none. Runs in the child."""

from google.protobuf.message import DecodeError
from onnx import ModelProto

from engine.errors import GraphError
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
    _require_graph(model)
    return model


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
