"""Large texts, which TensorFlow's own parser reads: the same as Python's, and the same sentence for what is wrong."""

from pathlib import Path
from typing import cast

import pytest

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.errors import GraphError
from engine.events import Json
from engine.graphs.tensorflow import graphdef_messages
from engine.graphs.tensorflow.graphdef_messages import GraphMessages, read_messages
from engine.graphs.tensorflow.large_text import parts_of_text

NODE = """node { name: "op%d" op: "Odd" input: "^op0" device: '/job:w' # a remark
  attr { key: "text" value { s: "\\001\\377 } { \\"" } } attr { key: "shape" value { shape { dim { size: -1 } } } }
  attr { key: "rate" value { f: 0.1 } } attr: < key: "list" value: < list { i: 1 i: [2, 3] } > > }
"""
REST = """versions { producer: 7 bad_consumers: 3 }
library { function { signature { name: "f" } node_def { name: "n" op: "NoOp" } } }
"""
WHOLE = NODE % 0 + "".join(NODE % index for index in range(1, 50)) + REST
TEXTS = {
    "whole": WHOLE,
    "unknown field": WHOLE + 'node { name: "x" opp: "NoOp" }',
    "cut short": WHOLE + 'node { name: "x" ',
    "name is no text": WHOLE + 'node { name: "\\377" op: "NoOp" }',
    "two libraries": WHOLE + 'library { function { signature { name: "g" } } }',
    "no graph at all": "hello",
}


def read_twice_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """What both parsers make of each text: whether the fast one took it, whether they agree, what is said."""
    texts: dict[str, Json] = {}
    for name, text in order.items():
        content = cast(str, text).encode()
        graphs: list[GraphMessages] = []
        said: list[Json] = []
        for large_from in (0, 2 * len(content)):
            graphdef_messages.LARGE_TEXT_BYTES = large_from
            try:
                graphs.append(read_messages(content, ".pbtxt"))
            except GraphError as error:
                said.append(str(error))
        texts[name] = {
            "taken": parts_of_text(cast(str, text)) is not None,
            "same": len(graphs) == 2 and graphs[0] == graphs[1],
            "nodes": len(graphs[0].nodes) if graphs else 0,
            "said": said,
        }
    return {}, texts


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Json]]:
    order: dict[str, Json] = dict(TEXTS)
    _, texts = run_in_child(f"{__name__}:read_twice_in_child", order, Limits(), task="reading", is_warm=True)
    return cast(dict[str, dict[str, Json]], texts)


def test_both_parsers_read_the_same(found: dict[str, dict[str, Json]]) -> None:
    assert found["whole"] == {"taken": True, "same": True, "said": [], "nodes": 50}


@pytest.mark.parametrize("name", [name for name in TEXTS if name != "whole"])
def test_what_is_refused_gets_the_sentence_of_pythons_parser(found: dict[str, dict[str, Json]], name: str) -> None:
    said = cast(list[str], found[name]["said"])
    assert len(said) == 2
    assert said[0] == said[1]
    assert said[0].endswith("; allowed: a GraphDef as text")
