"""Cuts a placed ONNX model into stages along its devices: models of their own that run one after the other.

A node's level is the largest number of times that a path to it changes the device; the nodes of one level and device
are a stage. So a stage needs only earlier ones, and those of one level can run at the same time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto

from engine.costs.onnx.known import ValueFacts
from engine.costs.onnx.walk import Findings
from engine.errors import GraphError, shortened
from engine.graphs.onnx.onnx_graph import OnnxGraph, is_constant, read_by


@dataclass(frozen=True, slots=True)
class ModelStage:
    """A part of a model."""

    device: str
    level: int
    model: ModelProto
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def stages_of(model: ModelProto, onnx: OnnxGraph, walk: Findings, device_of_op: Mapping[str, str]) -> list[ModelStage]:
    """The stages in an order in which they can run. Raises GraphError where the type of a tensor between is unknown."""
    device_of_node = {id(op.node): device_of_op[op.name] for op in onnx.ops if op.node is not None}
    types = {value.name: known for value, known in zip(onnx.values, walk.known, strict=True)}
    graph = model.graph
    nodes = [onnx.ops[number].node for number in onnx.regions[0].ops]
    ordered = [node for node in nodes if node is not None]
    maker = {name: node for node in graph.node for name in node.output if name}
    level: dict[int, int] = {}
    for node in ordered:
        before = [maker[name] for name in read_by(node) if name in maker and not is_constant(maker[name])]
        level[id(node)] = max(
            (level[id(each)] + (device_of_node[id(each)] != device_of_node[id(node)]) for each in before), default=0
        )
    members: dict[tuple[int, str], list[NodeProto]] = {}
    for node in ordered:
        members.setdefault((level[id(node)], device_of_node[id(node)]), []).append(node)
    cut = _Cut(model, types, maker)
    return [cut.stage(key[0], key[1], members[key]) for key in sorted(members)]


class _Cut:
    def __init__(self, model: ModelProto, types: Mapping[str, ValueFacts], maker: Mapping[str, NodeProto]) -> None:
        self._model, self._types, self._maker = model, types, maker
        graph = model.graph
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}
        self._sparse = {tensor.values.name: tensor for tensor in graph.sparse_initializer}
        self._given = {each.name: each for each in (*graph.input, *graph.output, *graph.value_info)}
        self._readers: dict[str, set[int]] = {}
        for node in graph.node:
            for name in read_by(node):
                self._readers.setdefault(name, set()).add(id(node))
        self._results = [each.name for each in graph.output]

    def stage(self, level: int, device: str, nodes: Sequence[NodeProto]) -> ModelStage:
        """The model of these nodes. Raises GraphError."""
        own = {id(node) for node in nodes}
        made = {name for node in nodes for name in node.output if name}
        read = dict.fromkeys(name for node in nodes for name in read_by(node) if name not in made)
        constants = [self._maker[name] for name in read if name in self._maker and is_constant(self._maker[name])]
        from_constants = {name for node in constants for name in node.output}
        inputs = [name for name in read if name not in from_constants and not self._is_initialised(name)]
        outputs = [
            name
            for name in dict.fromkeys(name for node in nodes for name in node.output if name)
            if name in self._results or self._readers.get(name, set()) - own
        ]
        graph = GraphProto(name=self._model.graph.name)
        graph.node.extend([*constants, *nodes])
        graph.input.extend(self._info(name) for name in inputs)
        graph.output.extend(self._info(name) for name in outputs)
        graph.initializer.extend(self._tensors[name] for name in read if name in self._tensors)
        graph.sparse_initializer.extend(self._sparse[name] for name in read if name in self._sparse)
        model = ModelProto()
        model.CopyFrom(_without_graph(self._model))
        model.graph.CopyFrom(graph)
        return ModelStage(device, level, model, tuple(inputs), tuple(outputs))

    def _is_initialised(self, name: str) -> bool:
        return name in self._tensors or name in self._sparse

    def _info(self, name: str) -> ValueInfoProto:
        """The name and type of a tensor between stages: lengths only where the file itself has them."""
        if name in self._given and self._given[name].type.WhichOneof("value") is not None:
            given: ValueInfoProto = self._given[name]
            return given
        known = self._types[name]
        info = ValueInfoProto(name=name)
        if known.other is not None:
            info.type.CopyFrom(known.other)
        elif known.type:
            info.type.CopyFrom(TypeProto(tensor_type=TypeProto.Tensor(elem_type=known.type)))
        else:
            what = "the element type of the tensor is unknown, so no stage can take it"
            allowed = "a type in value_info, or .onnx in place of stages"
            raise GraphError(what, where=shortened(name), allowed=allowed, field="file")
        return info


def _without_graph(model: ModelProto) -> ModelProto:
    """The versions, producer and metadata of `model`."""
    return ModelProto(
        ir_version=model.ir_version,
        opset_import=model.opset_import,
        producer_name=model.producer_name,
        producer_version=model.producer_version,
        domain=model.domain,
        model_version=model.model_version,
        metadata_props=model.metadata_props,
    )
