"""Lengths of outputs that depend on data, by their upper bounds."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.costs.onnx.execution import MisfitError, OnnxExecution
from engine.costs.onnx.known import ValueFacts
from engine.costs.operations.execution import size
from engine.errors import SettingsError, shortened


@dataclass(frozen=True, slots=True)
class DataLength:
    """A length that depends on data."""

    length: int | None
    source: str
    """one of `SIZES_FROM`"""
    outputs: list[ValueFacts]
    """with the length in place of what is open"""


def bounded(execution: OnnxExecution, given: int | None) -> DataLength | None:
    """The outputs of an op whose length depends on data, at the `given` length or its bound; None for other ops.

    Raises SettingsError where the given length is above the bound.
    """
    bound_of = BOUNDS.get(execution.node.op_type)
    lengths = [None] if not execution.outputs else list(_lengths(execution.outputs[0]))
    if bound_of is None or None not in lengths:
        return None
    try:
        bound: int | None = bound_of(execution)
    except MisfitError:
        bound = None
    if given is not None and bound is not None and given > bound:
        where = shortened(execution.node.name)
        raise SettingsError(
            f"the length {given} contradicts the file", where=where, allowed=f"at most {bound}", field="sizes"
        )
    length = bound if given is None else given
    source = "given" if given is not None else "unknown" if bound is None else "bound"
    if length is None:
        return DataLength(None, source, [known for known in execution.outputs if known is not None])
    outputs = [_closed(known, length, given is None) for known in execution.outputs if known is not None]
    return DataLength(length, source, outputs)


def _lengths(known: ValueFacts | None) -> tuple[int | None, ...]:
    return (None,) if known is None or known.lengths is None else known.lengths


def _closed(known: ValueFacts, length: int, is_bounded: bool) -> ValueFacts:
    if known.lengths is None:
        return known
    lengths = tuple(length if each is None else each for each in known.lengths)
    return replace(known, lengths=lengths, is_bounded=is_bounded)


def _all_elements(execution: OnnxExecution) -> int:
    return size(execution.input(0))


def _of_axis(execution: OnnxExecution) -> int:
    """All elements, or those of the axis that is given."""
    shape = execution.input(0)
    if "axis" not in execution.attributes:
        return size(shape)
    return shape[execution.axis(len(shape), 0)]


def _boxes(execution: OnnxExecution) -> int:
    """All boxes of each class in each picture, or as many as the op may give."""
    batch, boxes, _ = execution.input(0, rank=3)
    classes = execution.input(1, rank=3)[1]
    known = execution.inputs[2] if execution.has(2) else None
    most = boxes
    if known is not None and known.content is not None and known.content.size == 1:
        most = min(boxes, max(int(known.content.reshape(-1)[0]), 0))
    return batch * classes * most


BOUNDS: dict[str, Callable[[OnnxExecution], int]] = {
    "NonZero": _all_elements,
    "Unique": _of_axis,
    "Compress": _of_axis,
    "NonMaxSuppression": _boxes,
}
"""op type → the largest length of its output"""
