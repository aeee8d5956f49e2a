"""Finds the ops that a person's fetches name. Runs in the child."""

import re
from collections.abc import Sequence

from engine.errors import SettingsError, shortened
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message

ENDS_SHOWN = 8
_FETCH = re.compile(r"\^?([^:^]+)(?::([0-9]{1,9}))?\Z", re.ASCII)


def ops_of_fetches(messages: GraphMessages, fetches: Sequence[str]) -> tuple[str, ...]:
    """The names of the ops that `fetches` name: `train`, `logits:0`; each once, sorted.

    Raises SettingsError for an op that is not in the graph and for an output that the op lacks.
    """
    if not fetches:
        return ()
    node_of_name = {node.name: node for node in messages.nodes}
    found: set[str] = set()
    for fetch in fetches:
        match = _FETCH.match(fetch)
        node = node_of_name.get(match[1]) if match else None
        if match is None or node is None:
            what = f"{shortened(fetch)} is not in the graph"
            raise SettingsError(what, where="fetches", allowed=_ends(messages.nodes), field="fetches")
        if match[2] is not None:
            _require_output(node, int(match[2]), messages)
        found.add(node.name)
    return tuple(sorted(found))


def _require_output(node: Message, output: int, messages: GraphMessages) -> None:
    """Raise SettingsError if the op's type is known and lacks the output."""
    outputs = NodeTypes([node], messages.rest.library).outputs[0]
    if outputs is None or output < len(outputs):
        return
    name = shortened(node.name)
    allowed = f"outputs of {node.op} from 0 to {len(outputs) - 1}" if outputs else f"{name}: {node.op} has no output"
    raise SettingsError(f"{name}:{output} does not exist", where="fetches", allowed=allowed, field="fetches")


def _ends(nodes: Sequence[Message]) -> str:
    """What may be fetched, with the first ops that nothing takes as examples."""
    taken = {producer_of(text) for node in nodes for text in node.input}
    ends = [shortened(node.name) for node in nodes if node.name not in taken]
    such = f"; nothing takes {', '.join(ends[:ENDS_SHOWN])}{', …' * (len(ends) > ENDS_SHOWN)}" if ends else ""
    return f"the name of an op, or of its output as NAME:0{such}"
