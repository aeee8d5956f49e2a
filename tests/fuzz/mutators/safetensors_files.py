"""Mutators of safetensors files: header, our JSON in it, and the numbers behind it."""

import json
import struct
from collections.abc import Callable
from random import Random

from tests.fuzz.mutators import json_texts, plain_bytes

LENGTH_BYTES = 8
Mutator = Callable[[bytes, bytes, Random], bytes]


def parts(content: bytes) -> tuple[bytes, bytes]:
    """The header's JSON and the numbers behind it."""
    length = min(int.from_bytes(content[:LENGTH_BYTES], "little"), len(content))
    return content[LENGTH_BYTES : LENGTH_BYTES + length], content[LENGTH_BYTES + length :]


def whole(header: bytes, numbers: bytes) -> bytes:
    """The inverse of `parts`."""
    return struct.pack("<Q", len(header)) + header + numbers


def change_header(content: bytes, other: bytes, rng: Random) -> bytes:
    """Change the header as JSON."""
    header, numbers = parts(content)
    return whole(rng.choice(json_texts.MUTATORS)(header, parts(other)[0], rng), numbers)


def change_our_text(content: bytes, other: bytes, rng: Random) -> bytes:
    """Change the JSON that the header holds as a text: version, settings, card."""
    header, numbers = parts(content)
    try:
        reported = json.loads(header)
        text = reported["__metadata__"]["placeto"].encode()
        second = json.loads(parts(other)[0])["__metadata__"]["placeto"].encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return content
    changed = rng.choice(json_texts.MUTATORS)(text, second, rng)
    reported["__metadata__"]["placeto"] = changed.decode("utf-8", "replace")
    return whole(json.dumps(reported).encode(), numbers)


def change_numbers(content: bytes, other: bytes, rng: Random) -> bytes:
    """Change numbers of the weights to what is no usual number."""
    header, numbers = parts(content)
    values = (float("nan"), float("inf"), -0.0, 1e-45, 3e38, 1e7)
    if len(numbers) >= 4 and rng.random() < 0.7:
        at = 4 * rng.randrange(len(numbers) // 4)
        return whole(header, numbers[:at] + struct.pack("<f", rng.choice(values)) + numbers[at + 4 :])
    return whole(header, rng.choice(plain_bytes.MUTATORS)(numbers, parts(other)[1], rng))


def claim_header(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Claim another length of the header."""
    length = rng.choice((0, 1, 2**24, 2**24 + 1, 2**31, 2**63, 2**64 - 1, len(content)))
    return struct.pack("<Q", length) + content[LENGTH_BYTES:]


MUTATORS: tuple[Mutator, ...] = (
    change_header,
    change_header,
    change_our_text,
    change_our_text,
    change_our_text,
    change_numbers,
    claim_header,
)
