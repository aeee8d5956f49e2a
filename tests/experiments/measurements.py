"""What every row of a registry of measurements must hold."""

import ast
from pathlib import Path

from experiments.registry import Measuring

ROOT = Path(__file__).resolve().parents[2]


def source(measuring: Measuring) -> ast.Module:
    """The module of the row, parsed and not imported."""
    return ast.parse(ROOT.joinpath(*measuring.function.partition(":")[0].split(".")).with_suffix(".py").read_text())


def first_line(measuring: Measuring) -> str:
    """Of the docstring of its module."""
    whole = ast.get_docstring(source(measuring))
    assert whole is not None
    return whole.splitlines()[0]


def arguments_of(measuring: Measuring) -> list[str]:
    """Of its function, which is there once."""
    wanted = measuring.function.partition(":")[2]
    body = source(measuring).body
    (function,) = [each for each in body if isinstance(each, ast.FunctionDef) and each.name == wanted]
    return [argument.arg for argument in function.args.args]


def quick_benchmark() -> str:
    """A benchmark that measures nothing."""
    return "| quick |"
