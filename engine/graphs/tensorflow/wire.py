"""Reads one level of protobuf's wire format: the fields of a message and their positions, without building anything.

It counts the fields of an untrusted file before they are parsed, and allows to change one field and keep all other
bytes. Source: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
LONGEST_VARINT = 10
_FIXED_SIZES = {FIXED64: 8, FIXED32: 4}


class WireError(ValueError):
    """The bytes are no message; the text gives place and reason, as the end of a sentence about the file."""


class Field(NamedTuple):
    """One field of a message, as positions in its bytes."""

    number: int
    wire_type: int
    start: int
    """first byte of its tag"""
    payload: int
    """first byte of its value, after tag and length"""
    end: int


def fields(message: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of the message in `message[start:end]`, in order. Raises WireError for a broken message."""
    at, stop = start, len(message) if end is None else end
    while at < stop:
        tag, payload = read_varint(message, at, stop)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == BYTES:
            length, payload = read_varint(message, payload, stop)
            following = payload + length
        elif wire_type == VARINT:
            _, following = read_varint(message, payload, stop)
        elif wire_type in _FIXED_SIZES:
            following = payload + _FIXED_SIZES[wire_type]
        else:
            raise WireError(f"byte {at} begins no field")
        if number == 0:
            raise WireError(f"byte {at} begins no field")
        if following > stop:
            raise WireError(f"the field at byte {at} needs {following - payload} bytes, {stop - payload} are left")
        yield Field(number, wire_type, at, payload, following)
        at = following


def read_varint(message: bytes, at: int, stop: int) -> tuple[int, int]:
    """The variable-length number at `at`, and the position after it. Raises WireError where there is none."""
    value = 0
    for index in range(at, min(at + LONGEST_VARINT, stop)):
        byte = message[index]
        value |= (byte & 0x7F) << 7 * (index - at)
        if byte < 0x80:
            return value, index + 1
    raise WireError(f"the number at byte {at} does not end")


def bytes_field(number: int, payload: bytes) -> bytes:
    """A field of bytes, text or message: tag, length, `payload`."""
    return _varint(number << 3 | BYTES) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    """`value` as a variable-length number."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
