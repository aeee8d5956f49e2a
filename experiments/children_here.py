"""Runs the children of a module in this process, which is a child already: a new process takes seconds to start."""

import importlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from engine.child.parent import Results, no_progress
from engine.events import Json
from experiments.replaced import replaced


@contextmanager
def children_here(module: ModuleType, folder: Path) -> Iterator[None]:
    """Until the context ends, `module` runs its children in this process, each with its own folder in `folder`."""

    def run(function: str, arguments: Mapping[str, Json], *_: object, **__: object) -> Results:
        module_name, name = function.split(":")
        child_folder = Path(tempfile.mkdtemp(prefix="child_", dir=folder))  # several threads may ask at a time
        function_here = getattr(importlib.import_module(module_name), name)
        results: Results = function_here(dict(arguments), child_folder, no_progress)
        return results

    with replaced(module, "run_in_child", run):
        yield
