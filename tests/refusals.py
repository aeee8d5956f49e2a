"""The sentences with which the engine refuses a graph, as its code has them: what `raise SomeError(...)` says first."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READING = ("engine/formats", "engine/graphs", "engine/costs", "engine/child/parent.py", "engine/problem/pins.py")
"""where a graph is read, and where a run of it is refused"""
OTHER_MATTERS = (
    "engine/formats/node_link",  # has a section of its own: the sentence names the field
    "engine/formats/digraph.py",
    "engine/graphs/grouping",
    "engine/graphs/reading_options.py",  # values of fields, which the sentence names
    "engine/graphs/scopes.py",
    "engine/graphs/tensorflow/graphdef_writer.py",  # placements
    "engine/costs/costs.py",  # node-link JSON
)
ERRORS = ("GraphError", "LimitError", "TimeLimitError", "CostError", "SettingsError", "ChildError", "ChildKilledError")
LEAST_LETTERS = 6
"""of the longest fixed part of a sentence that can be looked for; a shorter one is a value, such as `0 trips`"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One sentence of the code; what changes from case to case is left out."""

    place: str
    """file and line"""
    parts: tuple[str, ...]
    """its fixed parts, in order"""

    @property
    def longest(self) -> str:
        """The longest fixed part, without spaces around it."""
        return max((part.strip(" :,;(") for part in self.parts), key=len, default="")

    def is_quoted_by(self, quote: str) -> bool:
        """Whether `quote`, words of a page, is about this sentence."""
        return self.longest in quote or any(quote in part for part in self.parts)

    def __str__(self) -> str:
        return f"{self.place}: {' … '.join(self.parts)}"


@cache
def refusals() -> tuple[Refusal, ...]:
    """All of them, each once, in the order of files and lines."""
    files = [path for name in READING for path in sorted([ROOT / name, *(ROOT / name).rglob("*.py")]) if path.is_file()]
    found = [
        refusal
        for path in files
        if not str(path.relative_to(ROOT)).startswith(OTHER_MATTERS)
        for refusal in _of_file(path)
    ]
    once = {refusal.parts: refusal for refusal in reversed(found)}
    return tuple(each for each in reversed(once.values()) if len(re.sub(r"\W", "", each.longest)) >= LEAST_LETTERS)


def _of_file(path: Path) -> Iterator[Refusal]:
    module = ast.parse(path.read_text())
    known = _assigned(module.body)
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        inside = known | _assigned(ast.walk(function))
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ERRORS and call.args:
                place = f"{path.relative_to(ROOT)}:{call.lineno}"
                yield from (Refusal(place, parts) for parts in _sentences(call.args[0], inside))


def _assigned(nodes: "Iterator[ast.AST] | list[ast.stmt]") -> dict[str, list[ast.expr]]:
    """Name → what is assigned to it."""
    values: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
    return values


def _sentences(node: ast.expr, known: dict[str, list[ast.expr]]) -> Iterator[tuple[str, ...]]:
    """The fixed parts of each sentence that `node` may be; nothing for what only runs can tell."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield (node.value,)
    elif isinstance(node, ast.JoinedStr):
        yield tuple(
            str(part.value) for part in node.values if isinstance(part, ast.Constant) and str(part.value).strip()
        )
    elif isinstance(node, ast.IfExp):
        yield from _sentences(node.body, known)
        yield from _sentences(node.orelse, known)
    elif isinstance(node, ast.BinOp):
        for left in _sentences(node.left, known):
            yield from ((*left, *right) for right in _sentences(node.right, known))
    elif isinstance(node, ast.Name):
        others = {name: values for name, values in known.items() if name != node.id}
        for value in known.get(node.id, []):
            yield from _sentences(value, others)
