"""The wire format is taken apart and put together without a loss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.tensorflow.wire import BYTES, FIXED32, FIXED64, VARINT, WireError, bytes_field, fields, read_varint


def encoded(value: int) -> bytes:
    """An obviously right variable-length number."""
    groups = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


PAYLOADS = {
    VARINT: st.integers(0, 2**64 - 1).map(encoded),
    FIXED64: st.binary(min_size=8, max_size=8),
    FIXED32: st.binary(min_size=4, max_size=4),
}


@st.composite
def messages(draw: st.DrawFn) -> list[tuple[int, int, bytes, bytes]]:
    """Fields as (number, wire type, payload, all bytes)."""
    found = []
    for _ in range(draw(st.integers(0, 6))):
        number = draw(st.integers(1, 2**29 - 1))
        wire_type = draw(st.sampled_from([VARINT, FIXED64, BYTES, FIXED32]))
        if wire_type == BYTES:
            payload = draw(st.binary(max_size=300))
            whole = encoded(number << 3 | BYTES) + encoded(len(payload)) + payload
            assert whole == bytes_field(number, payload)
        else:
            payload = draw(PAYLOADS[wire_type])
            whole = encoded(number << 3 | wire_type) + payload
        found.append((number, wire_type, payload, whole))
    return found


@given(messages())
def test_fields_are_found_as_they_were_put(expected: list[tuple[int, int, bytes, bytes]]) -> None:
    message = b"".join(whole for *_, whole in expected)
    found = [
        (field.number, field.wire_type, message[field.payload : field.end], message[field.start : field.end])
        for field in fields(message)
    ]
    assert found == expected


@given(messages(), st.data())
def test_a_message_cut_inside_a_field_is_broken(
    expected: list[tuple[int, int, bytes, bytes]], data: st.DataObject
) -> None:
    message = b"".join(whole for *_, whole in expected)
    borders = {sum(len(whole) for *_, whole in expected[:count]) for count in range(len(expected) + 1)}
    length = data.draw(st.integers(0, len(message)))
    if length in borders:
        list(fields(message[:length]))
    else:
        with pytest.raises(WireError):
            list(fields(message[:length]))


@given(st.integers(0, 2**70 - 1))
def test_numbers_come_back(value: int) -> None:
    content = encoded(value) + b"rest"
    assert read_varint(content, 0, len(content)) == (value, len(content) - 4)
