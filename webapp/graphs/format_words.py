"""The engine's formats in words for people."""

from collections.abc import Iterable

from engine import api


def format_words(suffix: str) -> str:
    """`MetaGraphDef (.meta)`; the suffix alone if it belongs to no format."""
    return f"{api.FORMATS[suffix].words} ({suffix})" if suffix in api.FORMATS else suffix


def formats_sentence(suffixes: Iterable[str]) -> str:
    """The formats of `suffixes`: `GraphDef (.pb), node-link JSON (.json).`"""
    return ", ".join(map(format_words, suffixes)) + "."
