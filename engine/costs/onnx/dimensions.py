"""The lengths that a model leaves open: dimensions by their names, and inputs by a batch size or whole shapes."""

from collections.abc import Mapping, Sequence

from onnx import TypeProto

from engine.costs.onnx.known import ValueFacts, known_of
from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.graphs.reading_options import OPEN_LENGTH, ReadingOptions, shape_words

DIMENSION = "dimension"
"""the type of a row of `Origin.sizes` for a dimension with a name"""


class Dimensions:
    """The lengths of dimensions and inputs, as a person gives them. Raises SettingsError for what does not fit."""

    def __init__(self, inputs: Mapping[str, TypeProto | None], options: ReadingOptions) -> None:
        """`inputs`: name → type of the model's inputs, in their order."""
        self._inputs, self._options = inputs, options
        self.names = dict.fromkeys(
            dimension.dim_param
            for message in inputs.values()
            for dimension in _dimensions(message)
            if dimension.dim_param and not dimension.HasField("dim_value")
        )
        """of dimensions of inputs"""
        self.lengths: dict[str, int] = {name: options.sizes[name] for name in self.names if name in options.sizes}
        """name of a dimension → its length"""
        self._require_inputs()
        for name, shape in options.input_shapes.items():
            self._take_shape(name, shape)
        if options.batch_size is not None:
            for message in inputs.values():
                for dimension in _dimensions(message)[:1]:
                    if dimension.dim_param and not dimension.HasField("dim_value"):
                        self.lengths.setdefault(dimension.dim_param, options.batch_size)

    def _require_inputs(self) -> None:
        for name in self._options.input_shapes:
            if name not in self._inputs:
                allowed = ", ".join(shortened(each) for each in list(self._inputs)[:8]) or "none: it has no inputs"
                what = "the op is not an input"
                raise SettingsError(what, where=shortened(name), allowed=allowed, field="input_shapes")

    def _take_shape(self, name: str, shape: Sequence[int]) -> None:
        """Give the dimensions of an input by its shape."""
        message = self._inputs[name]
        if message is None or not message.tensor_type.HasField("shape"):
            return
        dimensions = _dimensions(message)
        given = shortened(shape_words(shape))
        if len(dimensions) != len(shape):
            what = f"the shape [{given}] contradicts the file"
            raise SettingsError(what, where=shortened(name), allowed=f"{len(dimensions)} lengths", field="input_shapes")
        for dimension, length in zip(dimensions, shape, strict=True):
            if length == OPEN_LENGTH:
                continue
            if dimension.HasField("dim_value"):
                known = dimension.dim_value if dimension.dim_value >= 0 else length
            else:
                known = self.lengths.setdefault(dimension.dim_param, length) if dimension.dim_param else length
            if known != length:
                what = f"the shape [{given}] contradicts the file, or another option: {length} is {known}"
                raise SettingsError(what, where=shortened(name), allowed=f"{known}", field="input_shapes")

    def of_input(self, name: str) -> ValueFacts:
        """What is known of an input."""
        message = self._inputs[name]
        known = known_of(message, self.lengths)
        given = self._options.input_shapes.get(name)
        if known.other is not None:
            return known
        if known.lengths is None:
            return (
                known if given is None else ValueFacts(known.type, tuple(None if each < 0 else each for each in given))
            )
        lengths = list(known.lengths)
        if given is not None:
            lengths = [
                each if each is not None or length < 0 else length for each, length in zip(lengths, given, strict=True)
            ]
        has_name = bool(lengths) and bool(_dimensions(message)[0].dim_param)
        if lengths and lengths[0] is None and not has_name and self._options.batch_size is not None:
            lengths[0] = self._options.batch_size
        return ValueFacts(known.type, tuple(lengths))

    def names_of(self, name: str) -> tuple[str, ...]:
        """The names of an input's dimensions, empty for one without; () where none has one."""
        found = tuple(dimension.dim_param for dimension in _dimensions(self._inputs[name]))
        return found if any(found) else ()

    def rows(self) -> list[dict[str, Json]]:
        """A row a dimension, as `Origin.sizes` has them."""
        return [
            {
                "name": name,
                "type": DIMENSION,
                "length": self.lengths.get(name),
                "source": "given" if name in self.lengths else "unknown",
            }
            for name in self.names
        ]


def _dimensions(message: TypeProto | None) -> list[TypeProto.Tensor]:
    return [] if message is None else list(message.tensor_type.shape.dim)
