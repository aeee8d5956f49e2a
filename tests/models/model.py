"""A model of the suite: a row of the registry, and the result of its builder."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

from numpy.typing import NDArray

from engine.events import Json
from engine.graphs.reading_options import ReadingOptions

SAVED_MODEL, WITH_SHAPES, WITHOUT_SHAPES = "saved_model", "graph_with_shapes", "graph"
FROZEN, META_GRAPH = "frozen", "meta_graph"
FORMS = {
    SAVED_MODEL: "SavedModel, zipped",
    WITH_SHAPES: "GraphDef of the concrete function, `add_shapes`",
    WITHOUT_SHAPES: "GraphDef of the concrete function",
    FROZEN: "GraphDef, variables frozen to constants",
    META_GRAPH: "MetaGraphDef (.meta)",
}
"""forms of a file: name → words"""
SUFFIX_OF_FORM = {SAVED_MODEL: ".zip", META_GRAPH: ".meta"}
"""the other forms are .pb"""
CONTAINERS = (SAVED_MODEL, META_GRAPH)
FEED = "serving_default_"
"""before an input's name in a signature"""
OF_INFERENCE = (SAVED_MODEL, WITH_SHAPES, WITHOUT_SHAPES, FROZEN, META_GRAPH)
OF_TRAINING = (SAVED_MODEL, WITH_SHAPES, WITHOUT_SHAPES, META_GRAPH)
"""variables that a step assigns cannot be frozen"""
OF_TF1 = (SAVED_MODEL, META_GRAPH, WITH_SHAPES, WITHOUT_SHAPES)
BATCH_SIZE = 8
ModelRow: TypeAlias = Mapping[str, Json]
"""the figures of one file"""


@dataclass(frozen=True, slots=True)
class Built:
    """A model in memory: its step, and the figures that are known without a graph."""

    holder: Any
    """the saved object: a Keras model, which exports itself, another holder of the step's variables, or a `Graph1`"""
    step: Any
    """tf.function over `inputs`; None if the holder is a graph"""
    inputs: tuple[Any, ...]
    """tf.TensorSpec each; open lengths are None"""
    flops: int
    """of convolutions and matrix products of one step at the row's batch size; a multiply-add counts as two"""
    held: tuple[Any, ...]
    """all variables that the step holds"""

    @property
    def parameter_bytes(self) -> int:
        """The bytes of all variables that the step holds."""
        import tensorflow as tf

        types = [tf.as_dtype(each.dtype).base_dtype for each in self.held]
        return sum(prod(each.shape) * of_type.size for each, of_type in zip(self.held, types, strict=True))


@dataclass(frozen=True, slots=True)
class SuiteModel:
    """A row of the registry."""

    sentence: str
    """what it is"""
    builder: str
    """`module:function` of this package; the function takes the batch size and returns a `Built`"""
    batch_size: int = BATCH_SIZE
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """of inputs whose shapes a batch size does not determine"""
    open_trips: int = 0
    """trips to give for loops whose end depends on data; 0: none"""
    feeds: str = ""
    """`module:function` of this package, which returns inputs by name that do not take arbitrary numbers"""
    forms: tuple[str, ...] = (SAVED_MODEL,)
    small: bool = False
    """one of the ten models in every test run"""
    trains: bool = False
    """whether its step, and so the SavedModel's signature, is a training step"""
    half: bool = False
    """whether it computes in half precision, so that its outputs agree to fewer digits"""

    def build(self) -> Built:
        """Build the model; this loads TensorFlow."""
        module, _, name = self.builder.partition(":")
        import keras

        keras.utils.clear_session()  # so that names do not depend on earlier models
        function: Callable[[int], Built] = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        return function(self.batch_size)

    def fed(self) -> dict[str, NDArray[Any]]:
        """Numbers for the inputs of its SavedModel that do not take arbitrary ones."""
        if not self.feeds:
            return {}
        module, _, name = self.feeds.partition(":")
        function: Callable[[int], dict[str, NDArray[Any]]]
        function = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        return {f"{FEED}{given}": numbers for given, numbers in function(self.batch_size).items()}

    def options(self, form: str, trips: Mapping[str, int]) -> ReadingOptions:
        """The options for reading its file of this form."""
        prefix = FEED if form in CONTAINERS else ""
        shapes = {f"{prefix}{name}": shape for name, shape in self.input_shapes.items()}
        return ReadingOptions(batch_size=self.batch_size, input_shapes=shapes, trips=trips)
