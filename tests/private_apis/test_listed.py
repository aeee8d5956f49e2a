"""The product uses no private part of a library but those that a canary beside this file names."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.borders.python_source import PythonSource

ROOT = Path(__file__).parents[2]
PRODUCT = ("engine", "webapp", "experiments", "manage.py")
PRIVATE_MODULES = (
    "celery.concurrency",
    "celery.worker",
    "django.core.handlers",
    "keras.src",
    "kombu.transport",
    "numba.core",
    "tensorflow.python",
    "torch._",
    "uvicorn.protocols",
    "whitenoise",
)
"""what its library's documents name nowhere, or only for those who change the library"""
HELD_BY_ANOTHER = {
    "celery.worker.state.maybe_shutdown": "celery.worker.state",
    "tensorflow.python.framework.c_api_util": "engine.costs.tensorflow.grappler",
    "tensorflow.python.grappler.cluster": "engine.costs.tensorflow.grappler",
    "tensorflow.python.grappler.item": "engine.costs.tensorflow.grappler",
}
"""what a canary reaches by another import, and by which"""
DOCUMENTED = {"_asdict", "_base_manager", "_db", "_default_manager", "_exit", "_fields", "_meta", "_replace", "_state"}
"""names with an underscore that Python's and Django's documents describe"""
TYPES_ALONE = {"_ArgumentGroup"}
"""what is named in an annotation"""


def private_modules(source: PythonSource) -> Iterator[str]:
    """What it imports of PRIVATE_MODULES, as `module.name`."""
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PRIVATE_MODULES):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith(PRIVATE_MODULES))


def underscored(source: PythonSource) -> Iterator[str]:
    """The attributes with an underscore that it reads or sets of something."""
    for node in source.nodes:
        name = node.attr if isinstance(node, ast.Attribute) else ""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr"):
            name = str(node.args[1].value) if isinstance(node.args[1], ast.Constant) else ""
        if name.startswith("_") and not name.startswith("__"):
            yield name


def own_names(source: PythonSource) -> Iterator[str]:
    """Names with an underscore that it defines itself."""
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            yield from [node.attr] if node.value.id in ("self", "cls") else []


def sources(*names: str) -> list[PythonSource]:
    paths = [ROOT / name for name in names]
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return [PythonSource.read(file, ROOT) for file in files]


def test_each_private_part_that_the_product_uses_has_a_canary() -> None:
    product = sources(*PRODUCT)
    files = sorted(set(Path(__file__).parent.glob("test_*.py")) - {Path(__file__)})
    canaries = [PythonSource.read(file, ROOT) for file in files]
    used = {name for source in product for name in private_modules(source)}
    held = {name for source in canaries for name in private_modules(source)}
    assert held & used
    assert sorted(used - held - HELD_BY_ANOTHER.keys()) == []
    own = {name for source in product for name in own_names(source)}
    foreign = {name for source in product for name in underscored(source)} - own - DOCUMENTED - TYPES_ALONE
    texts = "".join(file.read_text() for file in files)
    assert foreign
    assert [name for name in sorted(foreign) if name not in texts] == []
