"""An attribute that claims more inputs or outputs than a graph may have is refused before TensorFlow sees it."""

import re
from pathlib import Path

import pytest

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.errors import GraphError, LimitError, PlacetoError
from engine.events import Json
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow.op_table import registered_ops

pytestmark = pytest.mark.slow

LIMITS = Limits(memory_bytes=2 * 1024**3, seconds=60.0)
HUGE = 2**31 - 1


def node(name: str, op: str, *inputs: str, **attributes: str) -> str:
    """A node as text; each attribute is the text of its value."""
    attrs = "".join(f'attr {{ key: "{key}" value {{ {value} }} }} ' for key, value in attributes.items())
    return f'node {{ name: "{name}" op: "{op}" {"".join(f"input: {each!r} " for each in inputs)}{attrs}}}\n'


BOMB = node("p", "Pack", T="type: DT_FLOAT", N=f"i: {HUGE}")
DATA = node("x", "Placeholder", dtype="type: DT_FLOAT")
SPLIT = node("s", "Unpack", "x", T="type: DT_FLOAT", num=f"i: {HUGE}")
FUNCTION = "library { function { signature { name: 'f' } " + SPLIT.replace("node {", "node_def {", 1) + " } }"

REFUSED: dict[str, tuple[str, str]] = {
    "no inputs": (BOMB, f"op 0 (p): the op claims {HUGE} inputs; allowed: at most 100000"),
    "fewer inputs": (
        DATA + node("p", "Pack", "x", T="type: DT_FLOAT", N="i: 50000"),
        "op 1 (p): the op has 1 data inputs; allowed: Pack takes 50000",
    ),
    "control inputs are none": (
        DATA + node("p", "ConcatV2", "x", "^x", T="type: DT_FLOAT", N="i: 2"),
        "op 1 (p): the op has 1 data inputs; allowed: ConcatV2 takes 3",
    ),
    "outputs": (DATA + SPLIT, f"op 1 (s): the op claims {HUGE} outputs; allowed: at most 100000"),
    "outputs in a function": (
        DATA + FUNCTION,
        f"op 0 (s) of function f: the op claims {HUGE} outputs; allowed: at most 100000",
    ),
    "many ops together": (
        DATA + "".join(node(f"s{index}", "Unpack", "x", T="type: DT_FLOAT", num="i: 100000") for index in range(21)),
        "the ops claim 2100000 outputs; allowed: at most 2000000 in a graph",
    ),
    "a list of types": (
        node("s", "FIFOQueueV2", component_types="list { type: DT_FLOAT }")
        + node(
            "q",
            "QueueDequeueV2",
            "s",
            component_types="list { type: [" + ", ".join(["DT_FLOAT"] * 100_001) + "] }",
        ),
        "op 1 (q): the op claims 100001 outputs; allowed: at most 100000",
    ),
}


def test_claims_are_refused_in_a_sentence() -> None:
    texts = {name: text for name, (text, _) in REFUSED.items()}
    _, said = run_in_child(f"{__name__}:refusals", {"texts": dict(texts)}, LIMITS, task="reading")
    assert said == {name: sentence for name, (_, sentence) in REFUSED.items()}


def test_every_op_type_whose_attributes_give_numbers_is_checked() -> None:
    """Each registered type with a number or a list of types, given an absurd number in every such attribute."""
    open_types = [name for name, of in registered_ops().items() if any(each.number for each in of.inputs + of.outputs)]
    texts: dict[str, Json] = {}
    for name in open_types:
        of = registered_ops()[name]
        numbers = {each.number: f"i: {HUGE}" for each in of.inputs + of.outputs if each.number}
        texts[name] = node("a", name, **numbers)
    _, said = run_in_child(f"{__name__}:refusals", {"texts": texts}, LIMITS, task="reading")
    assert len(said) == len(open_types) > 100
    sentence = re.compile(r"op 0 \(a\): the op claims [0-9]{10,} (inputs|outputs); allowed: at most 100000\Z")
    assert [words for words in said.values() if not sentence.match(str(words))] == []


def test_a_child_whose_memory_ran_out_in_tensorflow_says_so_at_once() -> None:
    """TensorFlow's destructors wait for ever where its allocation failed: none of them may run."""
    with pytest.raises(LimitError, match=r"\Aimporting took too much memory; allowed: at most 3072 MiB\Z"):
        run_in_child(f"{__name__}:imports", {}, Limits(memory_bytes=3 * 1024**3, seconds=90.0), task="importing")


def refusals(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """What the reader says to each text."""
    texts = order["texts"]
    assert isinstance(texts, dict)
    said: dict[str, Json] = {}
    for name, text in texts.items():
        try:
            graph_of_messages(read_messages(str(text).encode(), ".pbtxt", with_tensorflow=False), "graph")
        except (GraphError, LimitError) as error:
            said[name] = str(error)
    return {}, said


def imports(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Give TensorFlow the bomb that the reader refuses."""
    from engine.costs.tensorflow.grappler import require_importable  # which loads TensorFlow

    messages = read_messages(BOMB.encode(), ".pbtxt", with_tensorflow=False)
    graph = type(messages.rest)(node=messages.nodes)
    try:
        require_importable(graph.SerializeToString())
    except PlacetoError as error:
        return {}, {"refused": str(error)}
    return {}, {}
