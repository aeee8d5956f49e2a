"""JSON texts are measured before they are read, and the measure is right."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import GraphError
from engine.events import Json
from engine.files.json_text import _measure, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab"\\[]{},\n', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='k"\\[,', max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


def depth_of(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


def count_of(value: Json) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count_of, inner))


@given(VALUES, st.sampled_from([None, 1]))
def test_the_measure_is_that_of_the_value(value: Json, indent: int | None) -> None:
    text = json.dumps(value, indent=indent).encode()
    depth, values = _measure(text)
    assert depth == depth_of(value)
    assert count_of(value) <= values <= 2 * count_of(value)
    assert read_json(text, most_values=1000, error=GraphError, field="graph") == value


def test_blocks_do_not_matter() -> None:
    value = ["[" * 700_000, [["\\" * 500_001 + '"[,' * 300_000]], {"a": []}]
    text = json.dumps(value).encode()
    assert len(text) > 2 * 2**20
    assert _measure(text) == (3, 8)


def read(text: bytes) -> Json:
    return read_json(text, most_values=1000, error=GraphError, field="graph")


def test_a_byte_order_mark_is_allowed() -> None:
    assert read(b"\xef\xbb\xbf[1]") == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "line 1, column 1: this is not JSON; allowed: one JSON value"),
        (b"\x89PNG\r\n", "byte 0: this is not UTF-8 text; allowed: JSON in UTF-8"),
        ("[1]".encode("utf-16"), "byte 0: this is not UTF-8 text; allowed: JSON in UTF-8"),
        (b'{"a": 1,\n "a": 2}', "a: this key is there twice in one object; allowed: each key once"),
        (b'{"a\\ud800\\n": 1, "a\\ud800\\n": 2}', "a��: this key is there twice in one object; allowed: each key once"),
        (b"[" * 5_000_000, "the JSON is nested 5000000 levels deep; allowed: 32 levels"),
        (b"[" + b"1," * 1000 + b"1]", "the JSON holds about 1002 values; allowed: 1000 values"),
        (b"1" * 5000, "a number is too long; allowed: numbers of at most 4300 digits"),
        (b'["\n"]', "line 1, column 3: this is not JSON; allowed: one JSON value"),
    ],
)
def test_mistakes(text: bytes, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        read(text)
    assert str(caught.value) == message
    assert caught.value.field == "graph"
