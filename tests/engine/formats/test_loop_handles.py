"""Handles in graphs with loops: each op gets its handle through ops that no other op takes."""

from collections import Counter
from typing import Any

from engine.formats.saved_model.loop_handles import give_own_handles
from engine.graphs.tensorflow.graphdef_messages import read_messages
from tests.engine.formats.graphdef_samples import identity, node, type_attribute

RESOURCE = 20
HANDLE = type_attribute("T", RESOURCE)
LOOP = node("next", "NextIteration", "count", attributes=type_attribute("T", 3))


def passing(name: str, op: str, *inputs: str, device: str = "") -> bytes:
    return node(name, op, *inputs, device=device, attributes=HANDLE)


VARIABLE = node("variable", "VarHandleOp") + node("count", "Merge") + node("is_true", "Const")
NESTED = (
    VARIABLE
    + passing("input", "Identity", "variable", "^count", device="/device:GPU:1")
    + passing("outer", "Enter", "input")
    + passing("inner", "Enter", "outer")
    + passing("side", "Switch", "inner", "is_true")
    + node("read", "ReadVariableOp", "outer")
    + node("write", "ResourceScatterNdUpdate", "inner", "count", "read")
    + node("write_in_a_branch", "ResourceApplyAdam", "side:1", "side:1", "^inner", "^write")
    + node("waits", "NoOp", "^outer", "^side")
)


def nodes_of(content: bytes) -> list[Any]:
    return read_messages(content, ".pb").nodes


def test_no_two_ops_share_an_op_that_hands_a_handle_on() -> None:
    nodes = nodes_of(NESTED + LOOP)
    before = {each.name: list(each.input) for each in nodes}
    copies = give_own_handles(nodes, "own")
    everything = {each.name: each for each in [*nodes, *copies]}
    uses = Counter(text.lstrip("^").partition(":")[0] for each in everything.values() for text in each.input)
    assert len(everything) == len(nodes) + len(copies) == len(nodes) + 13
    for name, texts in before.items():
        for text, own in zip(texts, everything[name].input, strict=True):
            way, original = [own], [text]
            while not own.startswith("^") and everything[own.partition(":")[0]].name.startswith("own/"):
                copy, kept = everything[own.partition(":")[0]], everything[text.partition(":")[0]]
                assert uses[copy.name] == 1
                assert (copy.op, copy.device, copy.attr) == (kept.op, kept.device, kept.attr)
                assert list(copy.input)[1:] == list(kept.input)[1:]
                own, text = copy.input[0], kept.input[0]
                way.append(own)
                original.append(text)
            assert way[-1] == original[-1]
            assert [each.partition(":")[2] for each in way] == [each.partition(":")[2] for each in original]
    assert everything["write_in_a_branch"].input[2:] == ["^inner", "^write"]
    assert everything["input"].input == ["variable", "^count"]


def test_a_handle_that_one_op_takes_is_left_alone() -> None:
    nodes = nodes_of(
        VARIABLE + passing("input", "Identity", "variable") + node("read", "ReadVariableOp", "input") + LOOP
    )
    assert give_own_handles(nodes, "own") == []
    assert nodes[-2].input == ["input"]


def test_a_graph_without_loops_and_ops_that_hand_on_numbers_are_left_alone() -> None:
    numbers = identity("same", "is_true") + node("one", "Neg", "same") + node("other", "Neg", "same")
    for content in (NESTED, VARIABLE + numbers + LOOP):
        nodes = nodes_of(content)
        before = [str(each) for each in nodes]
        assert give_own_handles(nodes, "own") == []
        assert [str(each) for each in nodes] == before
