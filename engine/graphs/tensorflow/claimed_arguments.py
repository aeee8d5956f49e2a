"""Refuses ops that claim more inputs or outputs than a graph may have, before anything makes a list of them.

An attribute holds such a number: a `Pack` of 145 bytes may claim 2,147,483,647 inputs, for which TensorFlow would
allocate memory. Runs in the child.
"""

from collections.abc import Iterable, Mapping

from engine.errors import GraphError, LimitError, shortened
from engine.graphs.tensorflow.graphdef_messages import GraphMessages, place_of
from engine.graphs.tensorflow.graphdef_types import signatures_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_table import Argument, Signature
from engine.graphs.tensorflow.text_messages import MOST_OPS

MOST_ARGUMENTS = 100_000
"""largest number of data inputs, and of outputs, of one op"""
MOST_CLAIMED = 2 * MOST_OPS
"""largest number of outputs that ops claim by attributes, in the graph and its functions together"""


def require_real_arguments(messages: GraphMessages) -> None:
    """Check all numbers of inputs and outputs that attributes claim, in the graph and in its functions.

    An op of the graph may claim no more data inputs than it has; in a function one input can stand for many. Raises
    GraphError, LimitError.
    """
    signatures = {
        name: signature for name, signature in signatures_of(messages.rest.library).items() if _is_open(signature)
    }
    functions = {function.signature.name: function for function in messages.rest.library.function}
    claimed = _claimed(messages.nodes, signatures, "", are_real=True)
    for name, function in functions.items():
        claimed += _claimed(function.node_def, signatures, f" of function {shortened(name)}", are_real=False)
    if claimed > MOST_CLAIMED:
        what = f"the ops claim {claimed} outputs"
        raise LimitError(what, allowed=f"at most {MOST_CLAIMED} in a graph", field="file")


def _is_open(signature: Signature) -> bool:
    """Whether attributes hold numbers of its inputs or outputs."""
    return any(each.number or each.is_list for each in signature.inputs + signature.outputs)


def _claimed(nodes: Iterable[Message], signatures: Mapping[str, Signature], place: str, *, are_real: bool) -> int:
    """Number of outputs that the nodes claim. Raises GraphError, LimitError; `are_real`: for missing inputs too."""
    claimed = 0
    for index, node in enumerate(nodes):
        signature = signatures.get(node.op)
        if signature is None:
            continue
        inputs, outputs = _count(signature.inputs, node), _count(signature.outputs, node)
        where = place_of(node, index) + place
        for count, noun in ((inputs, "inputs"), (outputs, "outputs")):
            if count > MOST_ARGUMENTS:
                allowed = f"at most {MOST_ARGUMENTS}"
                raise LimitError(f"the op claims {count} {noun}", where=where, allowed=allowed, field="file")
        if are_real and inputs > len(node.input):
            there = sum(not text.startswith("^") for text in node.input)
            takes = f"{node.op} takes {inputs}"
            raise GraphError(f"the op has {there} data inputs", where=where, allowed=takes, field="file")
        claimed += outputs
    return claimed


def _count(arguments: Iterable[Argument], node: Message) -> int:
    """Number of tensors of these arguments; an attribute that is not there, or negative, counts as 0."""
    count = 0
    for argument in arguments:
        if argument.is_list:
            count += len(node.attr[argument.type].list.type) if argument.type in node.attr else 0
        elif argument.number:
            count += max(0, node.attr[argument.number].i) if argument.number in node.attr else 0
        else:
            count += 1
    return count
