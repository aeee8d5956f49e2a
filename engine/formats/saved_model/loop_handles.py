"""Gives each op of a graph with loops a resource handle of its own, so that `tf.saved_model.load` copies it in order.

That function copies a graph op by op, each op after its inputs. On a cycle there is no such order: it begins anywhere,
by the hashes of objects, and where an input is not copied yet, a placeholder stands in for it for a moment. The
placeholder of a handle lacks the shape of the handle's variable, and ops that write to the variable, such as
ResourceScatterNdUpdate, then refuse their other inputs. But if a handle comes to an op through ops (Enter, Identity,
Switch) that no other op takes, they are found through this op alone, and so always copied before it. An op without
inputs, such as VarHandleOp, is always copied first.
Source: tensorflow/python/eager/lift_to_graph.py.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import ENTERS, NEXT_ITERATIONS, RESOURCE, SWITCHES

SCOPE = "handles"
HANDED_ON = ENTERS | SWITCHES | {"Identity"}
"""types of ops that hand a handle on to other ops"""


def give_own_handles(nodes: Sequence[Message], scope: str) -> list[Message]:
    """Let no two ops of `nodes`, NodeDefs of a graph with loops, share an op that hands a handle on.

    Returns the copies that this takes, NodeDefs in the scope `scope`, each with the device of its original; they are
    not in `nodes`. Graphs without loops need none.
    """
    if not any(node.op in NEXT_ITERATIONS for node in nodes):
        return []
    node_of_name = {node.name: node for node in nodes}
    uses = Counter(name for node in nodes for name in map(producer_of, node.input))
    copies: list[Message] = []
    for node in nodes:
        if _hands_on(node):
            continue
        for position, text in enumerate(node.input):
            if not text.startswith("^"):
                path = _path(text, node_of_name)
                if any(uses[each.name] > 1 for each in path):
                    copies += _copied(path, node, position, f"{scope}/{node.name}/{position}")
    return copies


def _hands_on(node: Message) -> bool:
    return node.op in HANDED_ON and node.attr["T"].type == RESOURCE


def _path(text: str, node_of_name: Mapping[str, Message]) -> list[Message]:
    """The ops that hand on the handle at the input `text`, the nearest first, without the op that makes the handle."""
    path: list[Message] = []
    node = node_of_name[producer_of(text)]
    while _hands_on(node):
        path.append(node)
        node = node_of_name[producer_of(node.input[0])]
    return path


def _copied(path: Sequence[Message], consumer: Message, position: int, scope: str) -> list[Message]:
    """Copies of the ops on the `path`, through which the `consumer` then gets its input at this `position`."""
    copies: list[Message] = []
    taker = consumer
    for number, original in enumerate(path):
        copy = type(original)()
        copy.CopyFrom(original)
        copy.name = f"{scope}/{number}"
        _, colon, output = taker.input[position].partition(":")
        taker.input[position] = copy.name + colon + output
        taker, position = copy, 0
        copies.append(copy)
    return copies
