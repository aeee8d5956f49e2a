"""Which lines of the readers have run, by coverage.py."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import coverage

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "engine/formats",
    "engine/graphs",
    "engine/costs",
    "engine/files",
    "engine/clusters",
    "engine/policies/upload.py",
    "engine/policies/trained_policy.py",
    "engine/policies/card.py",
    "engine/files/tensor_file.py",
    "engine/prepared.py",
    "webapp/graphs/input_shapes.py",
    "webapp/graphs/named_numbers.py",
)
"""what reads uploads and texts: folders and files below the repository's root"""

Lines = dict[str, set[int]]
"""path below the root → numbers of lines"""


class Recorder:
    """Records the lines of the readers that run in this process, from `start` on."""

    def __init__(self) -> None:
        patterns = [str(ROOT / part) + ("" if part.endswith(".py") else "/*") for part in PACKAGES]
        self._coverage = coverage.Coverage(data_file=None, include=patterns, config_file=False)
        self._seen: Lines = defaultdict(set)

    def start(self) -> None:
        """Begin."""
        self._coverage.start()

    def stop(self) -> None:
        """End."""
        self._coverage.stop()

    def new_lines(self) -> Lines:
        """The lines that have run since the last call, and did not run before it."""
        data = self._coverage.get_data()
        new: Lines = {}
        for file in data.measured_files():
            path = str(Path(file).relative_to(ROOT))
            fresh = set(data.lines(file) or ()) - self._seen[path]
            if fresh:
                new[path] = fresh
                self._seen[path] |= fresh
        data.erase()
        return new


def statements_of(path: Path) -> set[int]:
    """The lines with statements that can run: coverage.py's own count."""
    _, statements, _, _, _ = coverage.Coverage(data_file=None, config_file=False).analysis2(str(path))
    return set(statements)


def files_of(part: str) -> list[Path]:
    """The Python files of one of PACKAGES."""
    path = ROOT / part
    return (
        [path] if path.is_file() else sorted(found for found in path.rglob("*.py") if "migrations" not in found.parts)
    )


def table(seen: Mapping[str, Iterable[int]]) -> list[tuple[str, int, int]]:
    """(package, statements, statements that ran) of each folder with readers, in the order of PACKAGES."""
    rows: dict[str, tuple[int, int]] = {}
    for part in PACKAGES:
        for path in files_of(part):
            name = str(path.relative_to(ROOT))
            statements = statements_of(path)
            package = name if part.endswith(".py") else str(path.parent.relative_to(ROOT))
            count, ran = rows.get(package, (0, 0))
            rows[package] = (count + len(statements), ran + len(statements & set(seen.get(name, ()))))
    return [(package, count, ran) for package, (count, ran) in rows.items() if count]


def functions_never_run(seen: Mapping[str, Iterable[int]]) -> list[str]:
    """`path:line name` of each function of the readers of which no line ran."""
    found = []
    for part in PACKAGES:
        for path in files_of(part):
            name = str(path.relative_to(ROOT))
            ran, statements = set(seen.get(name, ())), statements_of(path)
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    body = statements & set(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
                    if body and not body & ran:
                        found.append(f"{name}:{node.lineno} {node.name}")
    return found
