"""A cache of the families' prepared graphs as files, each with its identity and a checksum.

A file has a line that names the format, the SHA-256 of the rest, a line of JSON that identifies the graph and the
version of the engine, and the graph (`PreparedGraph.to_bytes`). Its name holds a digest of that JSON, so that another
seed, setting or version is another file.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from engine import VERSION
from engine.errors import GraphError, shortened
from engine.events import Json
from engine.prepared import PreparedGraph
from engine.zoo import ZOO
from engine.zoo.families.catalogue import Family
from engine.zoo.families.members import Member

HEAD = b"Placeto Explorer: a graph of a family, prepared\n"
DIGEST_BYTES = 32
RECIPE = 3
"""increase it with every change, within a version of the engine, to drawing, building, costing or grouping"""
MOST_BYTES = 256 * 1024**2
NAMED_DIGITS = 12
"""digits of the identity's digest in a file's name"""


def identity(row: Family, member: Member, seed: int) -> dict[str, Json]:
    """All data on which the content of a file depends."""
    return {
        "member": member.name,
        "seed": seed,
        "model": row.model,
        "settings": dataclasses.asdict(ZOO[row.model].settings(member.settings)),
        "groups": row.groups,
        "engine": VERSION,
        "recipe": RECIPE,
    }


def cache_path(cache: Path, wanted: Mapping[str, Json]) -> Path:
    """The path in the cache of the graph with the identity `wanted`, whether it exists or not."""
    digest = hashlib.sha256(_line(wanted)).hexdigest()[:NAMED_DIGITS]
    return cache / f"{wanted['member']}-seed{wanted['seed']}-{digest}.prepared"


def framed(prepared: bytes, wanted: Mapping[str, Json]) -> bytes:
    """The content of the cache file for `prepared`, the bytes of a prepared graph, and its identity."""
    content = _line(wanted) + prepared
    return HEAD + hashlib.sha256(content).digest() + content


def read_cached(path: Path, wanted: Mapping[str, Json]) -> PreparedGraph | None:
    """The graph in `path`, None where there is no such file. Raises GraphError for any other content.

    It renews the file's time, by which an application finds files that nobody uses.
    """
    if not path.exists():
        return None
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise _refusal(path, "this is not a file of the cache")
    with suppress(OSError):  # of another owner, or on a disk that is only read
        os.utime(path)
    blob = path.read_bytes()
    if not blob.startswith(HEAD):
        raise _refusal(path, "this is not a file of the cache")
    digest, content = blob[len(HEAD) : len(HEAD) + DIGEST_BYTES], blob[len(HEAD) + DIGEST_BYTES :]
    if hashlib.sha256(content).digest() != digest:
        raise _refusal(path, "it is damaged")
    line = _line(wanted)
    if not content.startswith(line):
        raise _refusal(path, "it holds another graph, or one of another version")
    return PreparedGraph.from_bytes(content[len(line) :])


def _line(wanted: Mapping[str, Json]) -> bytes:
    return json.dumps(wanted, sort_keys=True).encode() + b"\n"


def _refusal(path: Path, what: str) -> GraphError:
    return GraphError(what, where=shortened(path.name), allowed="a file that the engine has written", field="cache")
