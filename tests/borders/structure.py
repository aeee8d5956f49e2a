"""The structure of a checkout in figures: `python -m tests.borders.structure [ROOT]` prints them as a table.

What a string names (a registry's dotted path, a child's function) counts as an import, too: it has to be found.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.borders.python_source import PythonSource
from tests.borders.rules import import_circles

PRODUCT = ("engine", "experiments", "webapp", "setup")
SECTION_LINES = 80
"""a module with one importer and fewer lines could be a section of it"""


def sources_of(root: Path) -> dict[Path, PythonSource]:
    """The product's modules by their files, without migrations."""
    paths = [path for folder in PRODUCT for path in sorted((root / folder).rglob("*.py"))]
    return {path: PythonSource.read(path, root) for path in paths if "migrations" not in path.parts}


def importers(sources: Sequence[PythonSource]) -> dict[str, set[str]]:
    """Module → the modules that import it, at whatever time."""
    modules = {source.module for source in sources}
    found: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        for reach in source.imports():
            if reach.name in modules and not source.module.startswith(f"{reach.name}."):
                found[reach.name].add(source.module)
    return found


def figures(root: Path) -> Iterator[tuple[str, int]]:
    """Names and numbers."""
    files = sources_of(root)
    sources = list(files.values())
    lines = {source.module: len(path.read_text(encoding="utf-8").splitlines()) for path, source in files.items()}
    engine = [module for module in lines if module.startswith("engine.")]
    packages = {source.module for path, source in files.items() if path.name == "__init__.py"}
    yield "Python files of engine and experiments", sum(name.startswith(("engine", "experiments")) for name in lines)
    yield "their lines", sum(count for name, count in lines.items() if name.startswith(("engine", "experiments")))
    yield "Python files of webapp", sum(name.startswith("webapp") for name in lines)
    yield "their lines", sum(count for name, count in lines.items() if name.startswith("webapp"))
    yield "loose modules of engine", sum(name.count(".") == 1 and name not in packages for name in engine)
    yield "packages of engine", sum(name.count(".") == 1 and name in packages for name in engine)
    users = importers(sources)
    once = [name for name in users if len(users[name]) == 1 and name not in packages]
    yield "modules with one importer", len(once)
    near = [name for name in once if next(iter(users[name])).rpartition(".")[0] == name.rpartition(".")[0]]
    yield "of these in its own package", len(near)
    yield f"of these with fewer than {SECTION_LINES} lines", sum(lines[name] < SECTION_LINES for name in near)
    yield "circles of imports", len(import_circles(sources))


def main(root: Path) -> None:
    """Print the table."""
    for name, number in figures(root):
        print(f"{name:42}{number:8,}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
