"""Tables as CSV for spreadsheets: commas, double quotes, lines that end in CR LF, UTF-8."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TypeAlias

CsvCell: TypeAlias = str | int | float | bool | None

FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[CsvCell]]) -> str:
    """The table. None is an empty cell; numbers are whole; a text that a spreadsheet would compute gets a quote."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _cell(cell: CsvCell) -> str | int | float | None:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        cell = cell.replace("\0", "\ufffd")
        return f"'{cell}" if cell.startswith(FORMULA_BEGINS) else cell
    return cell
