"""Mutators of protobuf messages: they change a field at any depth and write all lengths around it anew."""

from collections.abc import Callable, Iterator
from random import Random

from engine.graphs.tensorflow.wire import BYTES, FIXED32, FIXED64, VARINT, Field, WireError, bytes_field, fields
from tests.fuzz.mutators.odd_values import odd_integer, odd_text

DEEPER = 0.8
"""probability of going on into a part that may be a message"""
LEVELS = (3, 20, 99, 101, 300, 5000)

Edit = Callable[[bytes, list[Field], bytes, Random], bytes]
"""(message, its fields, other content, generator) → message"""


def varint(value: int) -> bytes:
    """`value`, modulo 2^64, as a variable-length number."""
    value &= 2**64 - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def fields_of(message: bytes) -> list[Field]:
    """The fields of the message; none where it is no message."""
    try:
        return list(fields(message))
    except WireError:
        return []


def mutator(edit: Edit) -> Callable[[bytes, bytes, Random], bytes]:
    """A mutator that applies `edit` to the whole message, or to a message somewhere in it."""

    def mutate(content: bytes, other: bytes, rng: Random) -> bytes:
        found = fields_of(content)
        if not found:
            return content
        inner = [each for each in found if each.wire_type == BYTES and fields_of(content[each.payload : each.end])]
        if inner and rng.random() < DEEPER:
            field = rng.choice(inner)
            changed = mutate(content[field.payload : field.end], other, rng)
            return content[: field.start] + bytes_field(field.number, changed) + content[field.end :]
        return edit(content, found, other, rng)

    mutate.__name__ = edit.__name__
    return mutate


def drop_field(message: bytes, found: list[Field], _other: bytes, rng: Random) -> bytes:
    """Take a field away."""
    field = rng.choice(found)
    return message[: field.start] + message[field.end :]


def repeat_field(message: bytes, found: list[Field], _other: bytes, rng: Random) -> bytes:
    """Write a field several times."""
    field = rng.choice(found)
    times = rng.choice((2, 2, 3, 20, 500))
    times = min(times, 1 + 500_000 // (field.end - field.start))
    return message[: field.start] + message[field.start : field.end] * times + message[field.end :]


def move_field(message: bytes, found: list[Field], _other: bytes, rng: Random) -> bytes:
    """Write the fields in another order."""
    parts = [message[field.start : field.end] for field in found]
    moved = parts.pop(rng.randrange(len(parts)))
    parts.insert(rng.randrange(len(parts) + 1), moved)
    return b"".join(parts)


def renumber_field(message: bytes, found: list[Field], _other: bytes, rng: Random) -> bytes:
    """Give a field another number."""
    field = rng.choice(found)
    number = rng.choice((rng.randrange(1, 16), rng.choice(found).number, 2**29 - 1, 19000, 0))
    tag_end = field.payload if field.wire_type != BYTES else _after_tag(message, field)
    return message[: field.start] + varint(number << 3 | field.wire_type) + message[tag_end:]


def retype_field(message: bytes, found: list[Field], _other: bytes, rng: Random) -> bytes:
    """Write a field with another wire type."""
    field = rng.choice(found)
    payloads = {
        VARINT: varint(odd_integer(rng)),
        FIXED64: rng.randbytes(8),
        FIXED32: rng.randbytes(4),
        BYTES: varint(4) + rng.randbytes(4),
        3: b"",
        4: b"",
    }
    wire_type = rng.choice(list(payloads))
    tag = varint(field.number << 3 | wire_type)
    return message[: field.start] + tag + payloads[wire_type] + message[field.end :]


def change_number(message: bytes, found: list[Field], _other: bytes, rng: Random) -> bytes:
    """Give a number of the message another value."""
    numbers = [field for field in found if field.wire_type != BYTES]
    if not numbers:
        return change_text(message, found, _other, rng)
    field = rng.choice(numbers)
    payload = varint(odd_integer(rng)) if field.wire_type == VARINT else rng.randbytes(field.end - field.payload)
    return message[: field.payload] + payload + message[field.end :]


def change_text(message: bytes, found: list[Field], _other: bytes, rng: Random) -> bytes:
    """Give a text of the message another value."""
    texts = [field for field in found if field.wire_type == BYTES]
    if not texts:
        return change_number(message, found, _other, rng) if any(f.wire_type != BYTES for f in found) else message
    field = rng.choice(texts)
    return _with_payload(message, field, odd_text(rng).encode("utf-8", "surrogatepass"))


def borrow_text(message: bytes, found: list[Field], other: bytes, rng: Random) -> bytes:
    """Give a text the value of another one, so that names go on to mean something."""
    texts = [field for field in found if field.wire_type == BYTES]
    values = sorted(set(leaves(other)))
    if not texts or not values:
        return message
    return _with_payload(message, rng.choice(texts), rng.choice(values))


def borrow_field(message: bytes, found: list[Field], other: bytes, rng: Random) -> bytes:
    """Add a field of the other message."""
    others = fields_of(other)
    for _ in range(rng.randrange(4)):
        inner = [each for each in others if each.wire_type == BYTES and fields_of(other[each.payload : each.end])]
        if not inner:
            break
        field = rng.choice(inner)
        other = other[field.payload : field.end]
        others = fields_of(other)
    if not others:
        return message
    field = rng.choice(others)
    at = rng.choice([each.start for each in found] + [len(message)])
    return message[:at] + other[field.start : field.end] + message[at:]


def claim_length(message: bytes, found: list[Field], _other: bytes, rng: Random) -> bytes:
    """Claim another length of a field."""
    texts = [field for field in found if field.wire_type == BYTES]
    if not texts:
        return message
    field = rng.choice(texts)
    length = field.end - field.payload
    claimed = rng.choice((length - 1, length + 1, 0, 2**31, 2**63, 2**64 - 1))
    return message[: field.start] + varint(field.number << 3 | BYTES) + varint(claimed) + message[field.payload :]


def nest_deep(message: bytes, found: list[Field], _other: bytes, rng: Random) -> bytes:
    """Put a field into itself, level upon level."""
    field = rng.choice(found)
    nested = message[field.start : field.end]
    for _ in range(rng.choice(LEVELS)):
        nested = bytes_field(field.number or 1, nested)
    return message[: field.start] + nested + message[field.end :]


def leaves(message: bytes) -> Iterator[bytes]:
    """The payloads of bytes in the message and in its parts that hold no message."""
    for field in fields_of(message):
        if field.wire_type == BYTES:
            payload = message[field.payload : field.end]
            if fields_of(payload):
                yield from leaves(payload)
            if len(payload) < 200:
                yield payload


def _after_tag(message: bytes, field: Field) -> int:
    at = field.start
    while message[at] & 0x80:
        at += 1
    return at + 1


def _with_payload(message: bytes, field: Field, payload: bytes) -> bytes:
    return message[: field.start] + bytes_field(field.number, payload) + message[field.end :]


EDITS: tuple[Edit, ...] = (
    drop_field,
    repeat_field,
    move_field,
    renumber_field,
    retype_field,
    change_number,
    change_number,
    change_text,
    borrow_text,
    borrow_text,
    borrow_field,
    borrow_field,
    claim_length,
    nest_deep,
)
MUTATORS = tuple(map(mutator, EDITS))
