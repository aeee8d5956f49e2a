"""What a Python file reaches for, read from its syntax and not by running it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CAMEL_CASE = re.compile(r"[A-Z]\w*[a-z]\w*")
_MODEL = re.compile(r"(?P<app>[a-z_]+)\.(?P<model>[A-Z]\w*)")
"""how Django names a model in a string"""
_DOTTED_PATH = re.compile(r"(?P<module>(?:engine|experiments|setup|tests|webapp)(?:\.\w+)+)(?::\w+)?")
_IMPORTERS = ("import_module", "load_messages", "find_spec")
"""functions that take a module's name"""


@dataclass(frozen=True, slots=True)
class Reach:
    """One import, or one name that is used, with its line."""

    name: str
    """dotted: `engine.events`, `os.environ`"""
    line: int


@dataclass(frozen=True, slots=True)
class PythonSource:
    """A file: its dotted name and its syntax."""

    module: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    """all of the tree, walked once for all rules"""

    @staticmethod
    def parse(module: str, text: str) -> "PythonSource":
        """From a text."""
        tree = ast.parse(text)
        return PythonSource(module, tree, tuple(ast.walk(tree)))

    @staticmethod
    def read(path: Path, root: Path) -> "PythonSource":
        """From a file below `root`."""
        parts = list(path.relative_to(root).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        return PythonSource.parse(".".join(parts), path.read_text(encoding="utf-8"))

    def imports(self) -> Iterator[Reach]:
        """Every module that is imported, anywhere in the file, or that a string names for a later import."""
        yield from self.import_statements()
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                match = _DOTTED_PATH.fullmatch(node.value)
                if match:
                    yield Reach(match["module"], node.lineno)

    def import_statements(self) -> Iterator[Reach]:
        """Every module that is imported, anywhere in the file.

        `from a.b import c` gives both `a.b` and `a.b.c`, since `c` may be a module.
        """
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Reach(alias.name, node.lineno)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.module}:{node.lineno}: a relative import"
                yield Reach(node.module or "", node.lineno)
                for alias in node.names:
                    yield Reach(f"{node.module}.{alias.name}", node.lineno)

    def late_imports(self) -> Iterator[Reach]:
        """Every module that a call names in a string to import it: `importlib.import_module("a.b")`."""
        for node in self.nodes:
            if isinstance(node, ast.Call) and _dotted(node.func).rpartition(".")[2] in _IMPORTERS:
                for value in node.args[:1]:
                    if isinstance(value, ast.Constant) and isinstance(value.value, str):
                        yield Reach(value.value, node.lineno)

    def models_in_strings(self) -> Iterator[Reach]:
        """Every model that a call names in a string, for Django to import later: `models.ForeignKey("runs.Run")`."""
        for node in self.nodes:
            for value in _arguments(node):
                match = _MODEL.fullmatch(value.value) if isinstance(value.value, str) else None
                if match:
                    yield Reach(f"webapp.{match['app']}.models", value.lineno)

    def attributes(self) -> Iterator[Reach]:
        """Every `name.attribute.attribute` that is read; what is only assigned to does not count."""
        for node in self.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                dotted = _dotted(node)
                if dotted:
                    yield Reach(dotted, node.lineno)

    def arguments(self, name: str) -> Iterator[tuple[ast.expr, int]]:
        """Every value that is given for the argument `name` in a call."""
        for node in self.nodes:
            if isinstance(node, ast.keyword) and node.arg == name:
                yield node.value, node.value.lineno

    def types(self) -> Iterator[str]:
        """The public classes and type aliases of the module: names in CamelCase; type variables stand for any type."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Assign) and not _is_type_variable(node.value):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names = [node.target.id]
            else:
                continue
            yield from (name for name in names if _CAMEL_CASE.fullmatch(name))


def _arguments(node: ast.AST) -> list[ast.Constant]:
    """The constants among the arguments of a call."""
    if not isinstance(node, ast.Call):
        return []
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    return [value for value in values if isinstance(value, ast.Constant)]


def _is_type_variable(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _dotted(node.func) in ("TypeVar", "ParamSpec")


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        left = _dotted(node.value)
        return f"{left}.{node.attr}" if left else ""
    return ""
