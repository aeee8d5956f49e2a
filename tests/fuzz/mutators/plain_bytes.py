"""Mutators of any bytes."""

from random import Random

MOST_BYTES = 1024**2
"""mutated contents grow no larger"""


def flip(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Change some bits."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwrite(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Put other bytes over a few."""
    changed = bytearray(content)
    at = rng.randrange(len(changed) + 1)
    count = rng.choice((1, 1, 2, 4, 8))
    changed[at : at + count] = rng.choice((bytes(count), b"\xff" * count, rng.randbytes(count)))
    return bytes(changed)


def truncate(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Cut the end off."""
    return content[: rng.randrange(len(content) + 1)]


def remove(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Cut a part out."""
    start, end = _part(content, rng)
    return content[:start] + content[end:]


def repeat(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Repeat a part."""
    start, end = _part(content, rng)
    times = rng.choice((1, 1, 2, 10, 1000))
    times = min(times, max(1, (MOST_BYTES - len(content)) // max(1, end - start)))
    return content[:end] + content[start:end] * times + content[end:]


def swap(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Let two neighbouring parts change places."""
    first, second, third = sorted(rng.randrange(len(content) + 1) for _ in range(3))
    return content[:first] + content[second:third] + content[first:second] + content[third:]


def splice(content: bytes, other: bytes, rng: Random) -> bytes:
    """The beginning of one and the end of the other."""
    return content[: rng.randrange(len(content) + 1)] + other[rng.randrange(len(other) + 1) :]


def borrow(content: bytes, other: bytes, rng: Random) -> bytes:
    """Put a part of the other into this one."""
    start, end = _part(other, rng)
    at = rng.randrange(len(content) + 1)
    return content[:at] + other[start:end] + content[at:]


def _part(content: bytes, rng: Random) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 2, 4, 8, 32, 256, 4096)))


MUTATORS = (flip, overwrite, truncate, remove, repeat, swap, splice, borrow)
