"""The placer that CONTRIBUTING.md adds by a diff. As a plugin of pytest (`-p`) it is in the registry of that run."""

import re
import sys
from pathlib import Path
from types import ModuleType

from engine.placers.registry import PLACERS, Method

ROOT = Path(__file__).resolve().parents[3]
FILE = re.compile(r"^--- (?P<old>\S+)\n\+\+\+ b/(?P<new>\S+)\n(?P<lines>(?:[@+ ].*\n|\n)+)", re.MULTILINE)


def diff() -> str:
    """The text of the diff."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## How to add a placer")[2].partition("\n## ")[0]
    return section.partition("```diff\n")[2].partition("```")[0]


def added() -> dict[str, str]:
    """File → the lines that the diff adds to it."""
    lines = {found["new"]: found["lines"].splitlines() for found in FILE.finditer(diff())}
    return {name: "".join(f"{line[1:]}\n" for line in own if line[:1] == "+") for name, own in lines.items()}


def add() -> str:
    """Make the new module, put the new row into the registry, and return the method's name."""
    (file, source), (_, row) = added().items()
    module = ModuleType(file.removesuffix(".py").replace("/", "."))
    sys.modules[module.__name__] = module
    exec(compile(source, file, "exec"), module.__dict__)
    method: Method = eval(row.strip().rstrip(","), {"Method": Method})
    PLACERS[method.name] = method
    return method.name


def pytest_configure() -> None:
    """Before the tests are collected, which go over the registry."""
    add()
