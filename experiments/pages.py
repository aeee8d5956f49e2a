"""How an experiment reports its progress and writes its results: Markdown tables, a page, its rows as JSON."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

ReportLine: TypeAlias = Callable[[str], None]
"""takes one line of progress"""


def table_line(cells: Sequence[str]) -> str:
    """`| a | b |`"""
    return f"| {' | '.join(cells)} |"


def left_rule(columns: int) -> str:
    """The line under a table's head whose columns all stand on the left."""
    return "| --- " * columns + "|"


def table_of_figures(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table: names in the first column, figures on the right of the others."""
    rule = ["---", *("---:" for _ in head[1:])]
    return [table_line(cells) for cells in (head, rule, *rows)]


def write_page(folder: Path, name: str, text: str) -> str:
    """Write `folder`/`name`.md and return its text."""
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return text


def write_rows(folder: Path, name: str, rows: object, indent: int | None = None) -> None:
    """Write `folder`/`name`.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(rows, indent=indent) + "\n")
