"""Mutators of zip archives: they change entries, and write the archive anew with right sums."""

import io
import struct
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tests.fuzz.mutators import plain_bytes, wire_messages
from tests.fuzz.mutators.odd_values import odd_text

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
NAMES = (
    "..",
    "../saved_model.pb",
    "/saved_model.pb",
    "C:\\saved_model.pb",
    "a/saved_model.pb",
    "saved_model.pb",
    "x.zip",
)
LINK, FOLDER, DEVICE = 0o120777, 0o040755, 0o060600
LONGEST_NAME = 2**16 - 1
"""bytes of a name"""
BOMB_BYTES = 8 * 1024**2
LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an archive."""

    name: str
    content: bytes
    method: int = zipfile.ZIP_DEFLATED
    mode: int = 0o100644


Edit = Callable[[list[Entry], bytes, Random], list[Entry]]
"""(entries, other archive, generator) → entries"""


def entries_of(content: bytes) -> list[Entry]:
    """The entries of an archive. Raises an error of zipfile's for what is none."""
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        return [
            Entry(info.filename, source.read(info), info.compress_type, info.external_attr >> 16)
            for info in source.infolist()
            if info.file_size <= BOMB_BYTES
        ]


def archive_of(entries: list[Entry]) -> bytes:
    """An archive of these entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for entry in entries:
            info = zipfile.ZipInfo("entry", (1980, 1, 1, 0, 0, 0))
            info.filename = entry.name.encode("utf-8", "replace")[:LONGEST_NAME].decode("utf-8", "ignore")
            info.compress_type = entry.method
            info.external_attr = entry.mode << 16
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of a name that is there twice
                target.writestr(info, entry.content)
    return buffer.getvalue()


def mutator(edit: Edit) -> Callable[[bytes, bytes, Random], bytes]:
    """A mutator that applies `edit` to the entries."""

    def mutate(content: bytes, other: bytes, rng: Random) -> bytes:
        try:
            entries = entries_of(content)
        except Exception:  # any damage of an archive that was mutated before
            return content
        return archive_of(edit(entries, other, rng)) if entries else content

    mutate.__name__ = edit.__name__
    return mutate


def change_message(entries: list[Entry], other: bytes, rng: Random) -> list[Entry]:
    """Change the SavedModel's message, or another entry, as a message."""
    return _changed(entries, other, wire_messages.MUTATORS, rng)


def change_bytes(entries: list[Entry], other: bytes, rng: Random) -> list[Entry]:
    """Change the bytes of an entry."""
    return _changed(entries, other, plain_bytes.MUTATORS, rng)


def _changed(
    entries: list[Entry], other: bytes, mutators: tuple[Callable[[bytes, bytes, Random], bytes], ...], rng: Random
) -> list[Entry]:
    graphs = [index for index, entry in enumerate(entries) if entry.name.endswith("saved_model.pb")]
    at = rng.choice(graphs) if graphs and rng.random() < 0.9 else rng.randrange(len(entries))
    content = entries[at].content
    second = content
    if rng.random() < 0.5:
        try:
            second = next(entry.content for entry in entries_of(other) if entry.name.endswith("saved_model.pb"))
        except Exception:  # the other one is damaged, or has no such entry
            second = content
    for _ in range(rng.choice((1, 1, 2, 4))):
        content = rng.choice(mutators)(content, second, rng)
    entries[at] = replace(entries[at], content=content)
    return entries


def rename(entries: list[Entry], _other: bytes, rng: Random) -> list[Entry]:
    """Give an entry another name."""
    at = rng.randrange(len(entries))
    entries[at] = replace(entries[at], name=rng.choice((rng.choice(NAMES), odd_text(rng))))
    return entries


def rearrange(entries: list[Entry], other: bytes, rng: Random) -> list[Entry]:
    """Take an entry away, repeat it, move it, or take one of the other archive."""
    entry = entries.pop(rng.randrange(len(entries)))
    action = rng.randrange(4)
    if action == 1:
        entries += [entry, entry]
    elif action == 2:
        entries.insert(rng.randrange(len(entries) + 1), entry)
    elif action == 3:
        try:
            entries += [entry, rng.choice(entries_of(other))]
        except Exception:  # the other one is damaged
            entries += [entry]
    return entries


def change_form(entries: list[Entry], _other: bytes, rng: Random) -> list[Entry]:
    """Give an entry another method of packing or another mode: a link, a folder, a device."""
    at = rng.randrange(len(entries))
    mode = rng.choice((0o100644, 0, LINK, FOLDER, DEVICE))
    entries[at] = replace(entries[at], method=rng.choice(METHODS), mode=mode)
    return entries


def add_bomb(entries: list[Entry], _other: bytes, rng: Random) -> list[Entry]:
    """Add an entry that packs well, or very many entries."""
    if rng.random() < 0.5:
        return [*entries, Entry("variables/more", bytes(BOMB_BYTES))]
    count = rng.choice((100, 3000, 10_001))
    return [*entries, *(Entry(f"assets/{index}", b"", zipfile.ZIP_STORED) for index in range(count))]


def claim(content: bytes, _other: bytes, rng: Random) -> bytes:
    """Change a number in an entry's head: flags, method, sum, sizes, lengths, place."""
    heads = [at for mark in (LOCAL, CENTRAL) for at in _places(content, mark)]
    if not heads:
        return content
    at = rng.choice(heads) + rng.randrange(4, 46)
    value = rng.choice(
        (struct.pack("<H", rng.randrange(2**16)), struct.pack("<L", rng.choice((0, 1, 2**31, 2**32 - 1))))
    )
    return content[:at] + value + content[at + len(value) :]


def surround(content: bytes, other: bytes, rng: Random) -> bytes:
    """Put bytes before or behind the archive."""
    more = rng.choice((bytes(20), b"#!/bin/sh\n", other[:2000]))
    return more + content if rng.random() < 0.5 else content + more


def _places(content: bytes, mark: bytes) -> list[int]:
    places, at = [], content.find(mark)
    while at >= 0:
        places.append(at)
        at = content.find(mark, at + 4)
    return places


EDITS: tuple[Edit, ...] = (change_message,) * 6 + (change_bytes, rename, rearrange, change_form, add_bomb)
MUTATORS = (*map(mutator, EDITS), claim, surround)
