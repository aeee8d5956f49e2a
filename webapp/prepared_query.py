"""Queries whose SQL is written once: Django writes it anew at each request, which takes longer than a small query."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection, models
from django.db.models import QuerySet

QueryValue = uuid.UUID | str
_FIELDS: Mapping[type[Any], Any] = {uuid.UUID: models.UUIDField(), str: models.CharField()}


class PreparedQuery:
    """The first row of a query in which only values differ from one time to the next.

    `rows` makes it, by `values_list`, of values whose names and types `values` gives; each may stand in it several
    times, and only as a parameter: `rows` is called once, with values that nothing else has.
    """

    def __init__(self, rows: Callable[..., QuerySet[Any, tuple[Any, ...]]], **values: type[QueryValue]) -> None:
        self._rows, self._values = rows, values

    def first(self, **values: QueryValue) -> tuple[Any, ...] | None:
        """The row for `values`; None if there is none."""
        statement = self._statement
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, statement.parameters_for(values))
            row = cursor.fetchone()
        if row is None:
            return None
        return tuple(next(statement.compiler.apply_converters([row], statement.converters)))

    @cached_property
    def _statement(self) -> "_Statement":
        stand_ins: dict[str, QueryValue] = {
            name: uuid.uuid4() if kind is uuid.UUID else uuid.uuid4().hex for name, kind in self._values.items()
        }
        compiler = self._rows(**stand_ins).order_by()[:1].query.get_compiler(connection.alias)
        sql, parameters = compiler.as_sql()
        name_of = {_as_parameter(value): name for name, value in stand_ins.items()}
        converters = compiler.get_converters([column for column, *_ in compiler.select])
        return _Statement(compiler, converters, sql, parameters, [name_of.get(each) for each in parameters])


@dataclass(frozen=True, slots=True)
class _Statement:
    compiler: Any
    """Django's, which turns columns into Python's values"""
    converters: Any
    """by which it does, column by column"""
    sql: str
    parameters: tuple[Any, ...]
    names: list[str | None]
    """of the values that take the places of the parameters; None: it stays"""

    def parameters_for(self, values: Mapping[str, QueryValue]) -> list[Any]:
        given = {name: _as_parameter(value) for name, value in values.items()}
        return [one if name is None else given[name] for one, name in zip(self.parameters, self.names, strict=True)]


def _as_parameter(value: QueryValue) -> Any:
    """As Django gives it to the database."""
    return _FIELDS[type(value)].get_db_prep_value(value, connection)
