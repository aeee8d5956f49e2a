"""Selects the ops that one step runs: its targets and all ops that these need. Runs in the child."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import INPUTS

SAVING = frozenset({"SaveV2", "RestoreV2", "Save", "SaveSlices", "Restore", "RestoreSlice", "MergeV2Checkpoints"})
ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})
VARYING = INPUTS | {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "Variable", "VariableV2"}
"""ops whose outputs differ from step to step"""
SAVES, INITIALISES, UNUSED = "it saves or restores variables", "it sets variables to their start", "nothing takes it"


@dataclass(frozen=True, slots=True)
class Selection:
    """The ops that one step runs, as names; the graph itself stays unchanged."""

    targets: tuple[str, ...]
    """the ops that the step fetches"""
    needed: frozenset[str]
    """the targets, and all ops that they need"""
    left_out: tuple[tuple[str, str], ...]
    """(name, why) of ops that nobody consumes and the step does not run"""


def select(nodes: Sequence[Message], fetches: Sequence[str]) -> Selection:
    """Select the ops to run for `fetches`, or without any, for the ops that nobody consumes.

    Of the latter, unused inputs and ops that only save, restore or initialise variables are left out, unless there are
    no others. Raises GraphError for a fetch that is not in the graph.
    """
    node_of_name = {node.name: node for node in nodes}
    for name in fetches:
        if name not in node_of_name:
            raise GraphError("the op to run is not in the graph", where=shortened(name), allowed="ops of the graph")
    left_out: dict[str, str] = {}
    targets = list(dict.fromkeys(fetches))
    if not targets:
        sinks = _sinks(nodes)
        reasons = _reasons_to_leave_out(nodes)
        left_out = {name: reasons[name] for name in sinks if name in reasons}
        targets = [name for name in sinks if name not in left_out]
        if not targets:
            targets, left_out = sinks, {}
    return Selection(tuple(targets), frozenset(_needed(targets, node_of_name)), tuple(left_out.items()))


def _sinks(nodes: Sequence[Message]) -> list[str]:
    consumed = {producer_of(text) for node in nodes for text in node.input}
    return [node.name for node in nodes if node.name not in consumed]


def _needed(targets: Iterable[str], node_of_name: Mapping[str, Message]) -> set[str]:
    needed = set(targets)
    waiting = list(needed)
    while waiting:
        for text in node_of_name[waiting.pop()].input:
            producer = producer_of(text)
            if producer not in needed:
                needed.add(producer)
                waiting.append(producer)
    return needed


def _reasons_to_leave_out(nodes: Sequence[Message]) -> dict[str, str]:
    """Name of an op → why it is not part of a step."""
    saves = _reached(nodes, (node.name for node in nodes if node.op in SAVING))
    varies = _reached(nodes, (node.name for node in nodes if node.op in VARYING))
    reasons: dict[str, str] = {}
    for node in nodes:
        if node.name in saves:
            reasons[node.name] = SAVES
        elif node.op == "Placeholder":
            reasons[node.name] = UNUSED
        elif node.op in ASSIGNMENTS and not any(producer_of(text) in varies for text in node.input[1:]):
            reasons[node.name] = INITIALISES
    for node in _groups(nodes):
        inputs = {reasons.get(producer_of(text)) for text in node.input}
        if inputs == {INITIALISES}:
            reasons[node.name] = INITIALISES
    return reasons


def _groups(nodes: Sequence[Message]) -> list[Message]:
    """The NoOps that wait for others; TensorFlow writes groups of groups after their parts."""
    return [node for node in nodes if node.op == "NoOp" and node.input]


def _reached(nodes: Sequence[Message], starts: Iterable[str]) -> set[str]:
    """`starts` and all ops that depend on them; an assignment does not depend on its variable."""
    consumers: dict[str, list[str]] = {}
    for node in nodes:
        for position, text in enumerate(node.input):
            if position > 0 or node.op not in ASSIGNMENTS:
                consumers.setdefault(producer_of(text), []).append(node.name)
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        for name in consumers.get(waiting.pop(), ()):
            if name not in reached:
                reached.add(name)
                waiting.append(name)
    return reached
