"""Operations of an Einsum, from its equation.

An assignment of indices to all labels is one multiply-add where two operands are multiplied and something is summed,
one multiplication where nothing is summed, one addition where there is one operand and something is summed.
"""

from collections.abc import Iterable

from engine.costs.operations.execution import Execution, Shape, broadcast, require, size

ELLIPSIS = "..."


def einsum(execution: Execution) -> int:
    """Operations of an Einsum of one or two operands. Raises MisfitError."""
    operands, result = parts_of_equation(execution.content("equation").decode("latin-1"))
    require(len(operands) in (1, 2))
    lengths: dict[str, int] = {}
    batch: Shape = ()
    for position, labels in enumerate(operands):
        batch = broadcast(batch, _add_lengths(lengths, labels, execution.input(position)))
    require(set(result) - {ELLIPSIS} <= lengths.keys())
    sums = lengths.keys() > set(result) - {ELLIPSIS} or (batch != () and ELLIPSIS not in result)
    return size(batch) * size(tuple(lengths.values())) * (len(operands) - 1 + sums)


def parts_of_equation(equation: str) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand and of the result; an ellipsis counts as one label. Raises MisfitError."""
    left, arrow, right = "".join(equation.split()).partition("->")
    require(arrow != "")
    return [_labels(operand) for operand in left.split(",")], _labels(right)


def _labels(text: str) -> list[str]:
    """The labels in `text`: letters, and at most one ellipsis."""
    before, dots, after = text.partition(ELLIPSIS)
    require(all(label.isascii() and label.isalpha() for label in before + after))
    return [*before, *([dots] if dots else []), *after]


def _add_lengths(lengths: dict[str, int], labels: Iterable[str], shape: Shape) -> Shape:
    """Note the length of each label in one operand, and return the shape under its ellipsis."""
    labels = list(labels)
    covered = len(shape) - len(labels) + 1 if ELLIPSIS in labels else 0
    require(covered >= 0 and (ELLIPSIS in labels or len(labels) == len(shape)))
    start = labels.index(ELLIPSIS) if ELLIPSIS in labels else len(labels)
    named = [label for label in labels if label != ELLIPSIS]
    for label, length in zip(named, shape[:start] + shape[start + covered :], strict=True):
        require(lengths.setdefault(label, length) == length)
    return shape[start : start + covered]
