"""Rows as JSON lines: the columns' names, then a list of values for each row. The same for every database.

Bytes are base64, times ISO 8601, ids text; columns of JSON are JSON.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.management.color import no_style
from django.db import connection, models

from engine import api
from webapp.backups.failure import BackupError
from webapp.backups.row_values import require_allowed
from webapp.backups.schema import TableModel

ROWS_AT_A_TIME = 200
ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def columns_of(table: TableModel) -> list[Any]:
    """The fields with a column, in the order of their names."""
    return sorted(table._meta.local_concrete_fields, key=lambda field: str(field.column))


def lines_of(table: TableModel) -> Iterator[bytes]:
    """The table as lines, a few rows in memory at a time, ordered by the primary key."""
    fields = columns_of(table)
    yield _line([field.column for field in fields])
    kinds = [_kind(field) for field in fields]
    at_a_time = 1 if models.BinaryField in kinds else ROWS_AT_A_TIME  # a saved state may take many megabytes
    names = [field.attname for field in fields]
    for row in table._default_manager.order_by("pk").values_list(*names).iterator(chunk_size=at_a_time):
        yield _line([_to_json(value) for value in row])


def insert(table: TableModel, lines: Iterator[bytes]) -> int:
    """Insert the rows of `lines` exactly as they are, times of creation too; returns how many. Raises BackupError."""
    fields = _fields_in_order(table, next(lines, b""))
    kinds = [_kind(field) for field in fields]
    quote = connection.ops.quote_name
    places = ", ".join(["%s"] * len(fields))
    columns = ", ".join(quote(field.column) for field in fields)
    statement = f"INSERT INTO {quote(table._meta.db_table)} ({columns}) VALUES ({places})"  # noqa: S608  our own names
    at_a_time = 1 if models.BinaryField in kinds else ROWS_AT_A_TIME
    count = 0
    with connection.cursor() as cursor:
        while batch := list(islice(lines, at_a_time)):
            rows = [_values(table, fields, kinds, line) for line in batch]
            cursor.executemany(statement, rows)
            count += len(rows)
    return count


def reset_sequences(tables: Iterable[TableModel]) -> None:
    """Continue the numbers of new rows after those of the inserted ones."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(tables)):
            cursor.execute(statement)


def _line(values: list[Any]) -> bytes:
    return ENCODER.encode(values).encode("ascii") + b"\n"


def _to_json(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _fields_in_order(table: TableModel, header: bytes) -> list[Any]:
    fields = {field.column: field for field in columns_of(table)}
    names = _parsed(table, header)
    if sorted(fields) != names:
        raise _damaged(table)
    return [fields[name] for name in names]


def _values(table: TableModel, fields: list[Any], kinds: list[type], line: bytes) -> list[Any]:
    values = _parsed(table, line)
    if len(values) != len(fields):
        raise _damaged(table)
    return [_value(table, field, kind, value) for field, kind, value in zip(fields, kinds, values, strict=True)]


def _value(table: TableModel, field: Any, kind: type, value: Any) -> Any:
    try:
        require_allowed(table, field, kind, value)
    except ValueError as error:
        raise BackupError(
            f"the backup is damaged: a row of {table._meta.label_lower} has {api.shortened(repr(value), 60)} "
            f"as {field.column}; allowed: {error}"
        ) from None
    try:
        return field.get_db_prep_save(_from_json(kind, value), connection)
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError, ValidationError):
        raise _damaged(table) from None


def _from_json(kind: type, value: Any) -> Any:
    if value is None:
        return None
    if issubclass(kind, models.BinaryField):
        return base64.b64decode(value, validate=True)
    if issubclass(kind, models.DateTimeField):
        return datetime.fromisoformat(value)
    return UUID(value) if issubclass(kind, models.UUIDField) else value


def _kind(field: Any) -> type:
    """The type of the field's values: for a reference, that of the column it refers to."""
    while field.remote_field is not None:
        field = field.target_field
    return type(field)


def _parsed(table: TableModel, line: bytes) -> list[Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        raise _damaged(table) from None
    if not isinstance(values, list):
        raise _damaged(table)
    return values


def _damaged(table: TableModel) -> BackupError:
    return BackupError(f"the backup's rows of {table._meta.label_lower} are not what its manifest promises")
