"""The engine's formats in words for people."""

from collections.abc import Iterable

WORDS = {
    ".pb": "GraphDef",
    ".pbtxt": "GraphDef as text",
    ".meta": "MetaGraphDef",
    ".zip": "SavedModel",
    ".json": "node-link JSON",
}
"""suffix → what such a file holds"""


def format_words(suffix: str) -> str:
    """`MetaGraphDef (.meta)`; the suffix alone where it is a new one."""
    words = WORDS.get(suffix)
    return suffix if words is None else f"{words} ({suffix})"


def formats_sentence(suffixes: Iterable[str]) -> str:
    """All that may be uploaded: `GraphDef (.pb), node-link JSON (.json).`"""
    return ", ".join(map(format_words, suffixes)) + "."
