"""A digest of the code that decides what methods find, so that a table can say by which state it was made."""

import ast
import gc
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import engine

DECIDING = (
    "clusters",
    "costs",
    "graphs",
    "placers",
    "placeto",
    "policies",
    "problem",
    "search",
    "settings",
    "simulator",
    "zoo",
)
"""packages of the engine on which results depend; pages, exports, explanations and children are not among them"""
DIGITS = 12


_ONE_AT_A_TIME = threading.Lock()


def code_state() -> str:
    """The digest of the code as it is on disk; comments, docstrings and layout do not count."""
    with _ONE_AT_A_TIME, _no_collection():
        return _computed()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Python up to 3.11.7 builds a wrong tree, or none, if anything else is parsed meanwhile.

    A collection of garbage lets that happen: it calls finalizers, and other threads get their turn.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@cache
def _computed() -> str:
    root = Path(engine.__file__).parent
    digest = hashlib.sha256()
    for package in DECIDING:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(f"{path.relative_to(root)}\n{meaning(path.read_text())}\n".encode())
    return digest.hexdigest()[:DIGITS]


def meaning(source: str) -> str:
    """The source without comments, layout, and sentences that stand alone, which are docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, [each for each in statements if not _is_sentence(each)])
    return ast.dump(tree)


def _is_sentence(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
