"""How an experiment reports its progress and writes its results: Markdown tables, a page, its rows as JSON."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from engine.files.whole_files import write_whole

ReportLine: TypeAlias = Callable[[str], None]
"""takes one line of progress"""
LARGE_BYTES = 200_000
"""of a file in docs/results: what is larger is compressed"""


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
    """Write `folder`/name.json, or name.json.gz where it is larger than `LARGE_BYTES`."""
    write_json(folder / f"{name}.json", rows, indent)


def write_json(path: Path, value: object, indent: int | None = None) -> None:
    """Write a JSON file whole; a large one is compressed, and then its name ends with .gz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (json.dumps(value, indent=indent) + "\n").encode()
    packed = path.with_name(f"{path.name}.gz")
    if len(text) > LARGE_BYTES:
        write_whole(packed, gzip.compress(text, mtime=0))
        path.unlink(missing_ok=True)
    else:
        write_whole(path, text)
        packed.unlink(missing_ok=True)


def read_json(path: Path) -> Any:
    """What `write_json` wrote there; None if it has written nothing."""
    packed = path.with_name(f"{path.name}.gz")
    if packed.exists():
        return json.loads(gzip.decompress(packed.read_bytes()))
    return json.loads(path.read_bytes()) if path.exists() else None
