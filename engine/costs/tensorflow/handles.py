"""Follows fed handles of variables through the ops that pass them on. Runs in the child."""

from collections.abc import Iterable, Sequence

from tensorflow.core.framework import types_pb2

from engine.graphs.tensorflow.messages import Message


def passed_on(nodes: Sequence[Message], names: Iterable[str]) -> dict[str, str]:
    """Op → the handle among `names` that it is, or that it passes on, as Identity, Enter and Switch do."""
    takers: dict[str, list[str]] = {}
    for node in nodes:
        if node.input and "T" in node.attr and node.attr["T"].type == types_pb2.DT_RESOURCE:
            takers.setdefault(node.input[0].partition(":")[0], []).append(node.name)
    found = {name: name for name in names}
    waiting = list(found)
    while waiting:
        name = waiting.pop()
        for taker in takers.get(name, []):
            if taker not in found:
                found[taker] = found[name]
                waiting.append(taker)
    return found
