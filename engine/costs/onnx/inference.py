"""The types and lengths of an op's outputs: by ONNX's own functions, for other operators by rules of our own."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from onnx import AttributeProto, NodeProto, OperatorSetIdProto, TensorProto, TypeProto, defs, numpy_helper
from onnx.shape_inference import infer_node_outputs

from engine.costs.onnx import contributed
from engine.costs.onnx.execution import MisfitError, OnnxExecution
from engine.costs.onnx.known import UNKNOWN, ValueFacts, known_of
from engine.graphs.onnx.onnx_graph import Op

MOST_ATTRIBUTE_BYTES = 1024**2
"""an attribute of more bytes, such as the trees of a forest, says nothing on shapes"""


def inferred(op: Op, inputs: Sequence[ValueFacts | None], versions: Mapping[str, int]) -> list[ValueFacts]:
    """What is known of the outputs of `op`, one for each."""
    assert op.node is not None
    schema = _schema(op.type, versions.get(op.domain, 1), op.domain)
    if schema is not None:
        return _by_onnx(schema, op, inputs, versions)
    rule = contributed.SHAPES.get(op.type) if op.domain in ("", *contributed.DOMAINS) else None
    if rule is not None:
        try:
            found = rule(OnnxExecution(op.node, inputs, []))
        except (MisfitError, IndexError, ValueError):
            found = []
        return [*found, *[UNKNOWN] * len(op.outputs)][: len(op.outputs)]
    return [UNKNOWN] * len(op.outputs)


def is_known(op: Op, versions: Mapping[str, int]) -> bool:
    """Whether ONNX itself has the operator."""
    return _schema(op.type, versions.get(op.domain, 1), op.domain) is not None


@cache
def _schema(op_type: str, version: int, domain: str) -> Any:
    try:
        return defs.get_schema(op_type, min(max(version, 1), 2**30), domain)
    except defs.SchemaError:
        return None


def _by_onnx(schema: Any, op: Op, inputs: Sequence[ValueFacts | None], versions: Mapping[str, int]) -> list[ValueFacts]:
    """The answer of ONNX's own function for the operator; unknown where it has none, or refuses the op."""
    try:
        found = _asked(schema, op, inputs, versions)
    except Exception:  # the types of ONNX's errors are private; the bytes came from a stranger
        return [UNKNOWN] * len(op.outputs)
    return [known_of(found.get(f"o{position}"), {}) for position in range(len(op.outputs))]


def _asked(
    schema: Any, op: Op, inputs: Sequence[ValueFacts | None], versions: Mapping[str, int]
) -> dict[str, TypeProto]:
    """The types of the outputs `o0`, `o1`, and so on. Raises what ONNX raises."""
    assert op.node is not None
    node = NodeProto(op_type=op.type, domain=op.domain)
    types: dict[str, TypeProto] = {}
    contents: dict[str, TensorProto] = {}
    for position, known in enumerate(inputs):
        name = "" if known is None else f"i{position}"
        node.input.append(name)
        if known is not None:
            types[name] = known.message()
        if known is not None and known.content is not None:
            contents[name] = numpy_helper.from_array(known.content)
    node.output.extend(f"o{position}" for position in range(len(op.outputs)))
    node.attribute.extend(_decisive(op.node))
    opsets = [OperatorSetIdProto(domain=domain, version=version) for domain, version in versions.items()]
    return infer_node_outputs(schema, node, types, contents, opset_imports=opsets)


def _decisive(node: NodeProto) -> list[AttributeProto]:
    """The attributes that say something on shapes."""
    return [
        each
        for each in node.attribute
        if each.type not in (AttributeProto.GRAPH, AttributeProto.GRAPHS) and each.ByteSize() <= MOST_ATTRIBUTE_BYTES
    ]
