"""Put our counts in place of the estimator's, for ops of known shapes that it miscounts. Runs in the child."""

from collections.abc import Sequence

from engine.costs.arithmetic import MISCOUNTED, operations_of
from engine.costs.tensorflow.grappler import MOST_OPERATIONS, Work
from engine.costs.tensorflow.inference.known import Known
from engine.costs.tensorflow.inference.queries import tensor_of
from engine.graphs.tensorflow.messages import Message


def correct_operations(nodes: Sequence[Message], outputs: Sequence[Sequence[Known]], work: Work) -> None:
    """Correct `work.operations` by the `outputs` of all ops; ops unknown to the estimator stay unknown."""
    index_of_name = {node.name: index for index, node in enumerate(nodes)}
    for op, node in enumerate(nodes):
        if node.op in MISCOUNTED and not work.unknown[op]:
            inputs = [_named(text, outputs, index_of_name) for text in node.input if not text.startswith("^")]
            count = operations_of(
                node,
                [None if known is None else tensor_of(known) for known in inputs],
                [tensor_of(known) for known in outputs[op]],
            )
            if count is not None and count <= MOST_OPERATIONS:
                work.operations[op] = count


def _named(text: str, outputs: Sequence[Sequence[Known]], index_of_name: dict[str, int]) -> Known | None:
    """The output that an input (`x`, `x:1`) names."""
    name, _, output = text.partition(":")
    of_producer = outputs[index_of_name[name]]
    position = int(output or 0)
    return of_producer[position] if position < len(of_producer) else None
