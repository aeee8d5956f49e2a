"""The input shapes and batch size that a person gives, where the file leaves them open. Runs in the child."""

from collections.abc import Sequence

from tensorflow.core.framework import tensor_shape_pb2, types_pb2

from engine.errors import SettingsError, shortened
from engine.graphs.reading_options import OPEN_LENGTH, ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import INPUTS

ITERATORS = frozenset({"IteratorGetNext", "IteratorGetNextSync"})
LAST_PRODUCER_OF_UNKNOWN_SCALARS = 21
"""in files of this version and earlier a placeholder of shape [] has any shape"""
INPUTS_SHOWN = 8


def given_shapes(messages: GraphMessages, options: ReadingOptions) -> dict[int, list[Message]]:
    """Op → TensorShapeProto of each output, for the inputs whose shapes the options decide.

    The shape of a variable's handle is that of the variable. Raises SettingsError for an input that is not in the
    graph and for a shape that contradicts the file's.
    """
    index_of_name = {node.name: index for index, node in enumerate(messages.nodes)}
    producer = messages.rest.versions.producer
    given: dict[int, list[Message]] = {}
    for name, lengths in options.input_shapes.items():
        index = index_of_name.get(name)
        if index is None or messages.nodes[index].op not in INPUTS:
            what = (
                "there is no such op"
                if index is None
                else f"the op is not an input but of type {messages.nodes[index].op}"
            )
            raise SettingsError(
                what, where=shortened(name), allowed=_names_of_inputs(messages.nodes), field="input_shapes"
            )
        given[index] = [_agreed(messages.nodes[index], lengths, producer)]
    if options.batch_size is not None:
        for index, node in enumerate(messages.nodes):
            if shapes := _in_batches(node, given.get(index), options.batch_size, producer):
                given[index] = shapes
    return given


def declared_shape(node: Message, producer: int) -> Message:
    """The shape that the file gives the output of an input op, joined from its attributes."""
    shape = tensor_shape_pb2.TensorShapeProto(unknown_rank=True)
    if "shape" in node.attr:
        shape.CopyFrom(node.attr["shape"].shape)
    if node.op == "Placeholder" and producer <= LAST_PRODUCER_OF_UNKNOWN_SCALARS and not shape.dim:
        shape.unknown_rank = True
    annotated = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else []
    if len(annotated) != 1 or annotated[0].unknown_rank:
        return shape
    if shape.unknown_rank:
        shape.CopyFrom(annotated[0])
    elif len(shape.dim) == len(annotated[0].dim):
        for dimension, other in zip(shape.dim, annotated[0].dim, strict=True):
            dimension.size = other.size if dimension.size < 0 else dimension.size
    return shape


def shape_of(lengths: Sequence[int]) -> Message:
    """A TensorShapeProto of these lengths."""
    return tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=size) for size in lengths])


def shape_text(shape: Message) -> str:
    """The shape as people write it: `[?, 224, 224, 3]`."""
    if shape.unknown_rank:
        return "any shape"
    return f"[{', '.join('?' if dimension.size < 0 else str(dimension.size) for dimension in shape.dim)}]"


def _agreed(node: Message, lengths: Sequence[int], producer: int) -> Message:
    """The shape `lengths` with open ones from the file, if the file's shape allows it. Raises SettingsError."""
    declared = declared_shape(node, producer)
    agrees = declared.unknown_rank or (
        len(declared.dim) == len(lengths)
        and all(
            min(dimension.size, length) < 0 or dimension.size == length
            for dimension, length in zip(declared.dim, lengths, strict=True)
        )
    )
    if not agrees and node.attr["dtype"].type != types_pb2.DT_RESOURCE:  # that of the handle, not of the variable
        raise SettingsError(
            f"the shape {shape_text(shape_of(lengths))} contradicts the file",
            where=shortened(node.name),
            allowed=shape_text(declared),
            field="input_shapes",
        )
    shape = shape_of(lengths)
    if len(declared.dim) == len(lengths) and not declared.unknown_rank:
        for dimension, other in zip(shape.dim, declared.dim, strict=True):
            dimension.size = other.size if dimension.size == OPEN_LENGTH else dimension.size
    return shape


def _in_batches(node: Message, given: list[Message] | None, batch_size: int, producer: int) -> list[Message]:
    """The node's shapes with open first dimensions set to `batch_size`; empty for no input or no open one."""
    if given is not None:
        shapes = given
    elif node.op in INPUTS:
        shapes = [declared_shape(node, producer)]
    elif node.op in ITERATORS and "output_shapes" in node.attr:
        shapes = [shape_of(()) for _ in node.attr["output_shapes"].list.shape]
        for shape, declared in zip(shapes, node.attr["output_shapes"].list.shape, strict=True):
            shape.CopyFrom(declared)
    else:
        return []
    is_open = [bool(shape.dim) and not shape.unknown_rank and shape.dim[0].size < 0 for shape in shapes]
    for shape, opened in zip(shapes, is_open, strict=True):
        if opened:
            shape.dim[0].size = batch_size
    return shapes if any(is_open) else []


def _names_of_inputs(nodes: Sequence[Message]) -> str:
    names = [shortened(node.name) for node in nodes if node.op in INPUTS]
    if not names:
        return "none, since the graph has no inputs"
    return ", ".join(names[:INPUTS_SHOWN]) + ", …" * (len(names) > INPUTS_SHOWN)
