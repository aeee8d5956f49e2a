"""Builds ONNX models for tests, with weights of which only the lengths are in the file, or with small random ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

OPSET = 17
IR_VERSION = 10
RUNTIME = "com.microsoft"


@dataclass
class Builder:
    """A model that grows node by node; each method gives the name of its output."""

    seed: int | None = None
    """of the weights' numbers; None: they lie in a file that is not there"""
    nodes: list[NodeProto] = field(default_factory=list)
    initialisers: list[TensorProto] = field(default_factory=list)
    inputs: list[ValueInfoProto] = field(default_factory=list)
    scope: str = ""
    """prefix of the names of nodes and weights"""
    element: int = TensorProto.FLOAT

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)
        self._numbers: dict[str, int] = {}

    def input(self, name: str, shape: Sequence[int | str | None], element: int | None = None) -> str:
        """An input of the model."""
        self.inputs.append(helper.make_tensor_value_info(name, self.element if element is None else element, shape))
        return name

    def weight(self, *shape: int, name: str = "weight") -> str:
        """An initialiser of the type of the model."""
        own = self._unique(f"{self.scope}{name}")
        if self.seed is None:
            self.initialisers.append(without_data(own, self.element, shape))
        else:
            numbers = (self._rng.standard_normal(shape) * 0.1).astype(helper.tensor_dtype_to_np_dtype(self.element))
            self.initialisers.append(helper.make_tensor(own, self.element, shape, numbers.tobytes(), raw=True))
        return own

    def integers(self, numbers: Sequence[int], name: str = "const") -> str:
        """An initialiser of integers that is in the file."""
        own = self._unique(f"{self.scope}{name}")
        self.initialisers.append(helper.make_tensor(own, TensorProto.INT64, [len(numbers)], numbers))
        return own

    def node(self, op_type: str, *inputs: str, outputs: int = 1, name: str | None = None, **attributes: Any) -> str:
        """A node; the name of its first output, of which the others follow."""
        own = self._unique(f"{self.scope}{name or op_type}")
        made = [f"{own}:{position}" for position in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), made, name=own, **attributes))
        return made[0]

    def model(self, *outputs: str, opsets: dict[str, int] | None = None, **more: Any) -> ModelProto:
        """The model with these outputs, of unknown shapes."""
        made = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, "model", self.inputs, made, self.initialisers)
        versions = [helper.make_opsetid(domain, version) for domain, version in (opsets or {"": OPSET}).items()]
        return helper.make_model(graph, opset_imports=versions, ir_version=IR_VERSION, **more)

    def _unique(self, name: str) -> str:
        self._numbers[name] = self._numbers.get(name, -1) + 1
        return f"{name}_{self._numbers[name]}" if self._numbers[name] else name


def without_data(name: str, element: int, shape: Sequence[int]) -> TensorProto:
    """An initialiser whose numbers lie in another file."""
    tensor = TensorProto(name=name, data_type=element, dims=shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights.bin")
    return tensor


def stored(model: ModelProto, path: Path) -> Path:
    """`model` as a file."""
    path.write_bytes(model.SerializeToString())
    return path
