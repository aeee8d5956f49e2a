"""Sends made-up requests to one operation after the other, in this process, and undoes what each has done."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

ADDRESS = "/api/v1/openapi.json"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
STREAMS = "stream_of_"
PLAIN = {"Accept-Encoding": "identity"}
"""nothing between unpacks answers"""
Ids = Mapping[str, uuid.UUID]


def operations() -> Iterator[Any]:
    """The operations of the document, streams left out: of a waiting job they do not end."""
    with connection_kept():
        schema = schemathesis.openapi.from_wsgi(ADDRESS, get_wsgi_application())
    for found in schema.get_all_operations():
        operation = cast("Any", found).ok()
        if not operation.definition.raw["operationId"].startswith(STREAMS):
            yield operation


def attempt(
    operation: Any, mode: GenerationMode, rows: tuple[Ids, ...], examples: int, number: int, token: str = ""
) -> dict[int, int]:
    """Send requests; returns how many had which status. Raises FailureGroup for a broken promise.

    `rows`: the ids of some that are there, in place of most made-up ones. `number` decides what is sent. `token`: of
    who sends it; empty without accounts.
    """
    headers = PLAIN | ({"Authorization": f"Bearer {token}"} if token else {})
    statuses: dict[int, int] = {}

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        _name_rows(case, rows)
        with connection_kept(), transaction.atomic():
            response = case.call(headers=headers)
            transaction.set_rollback(True)
        statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
        case.validate_response(response, checks=CHECKS)

    with suppress(Unsatisfiable):  # where nothing can be said wrongly
        send()
    return statuses


@contextmanager
def connection_kept() -> Iterator[None]:
    """A request closes no connection to the database, as Django's own client for tests has it."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


def _name_rows(case: Any, rows: tuple[Ids, ...]) -> None:
    """Put the ids of rows that are there in the address, where it has well-formed ones; some stay made up."""
    for name, value in (case.path_parameters or {}).items():
        made_up = _uuid(value)
        if made_up is not None and made_up.int % 8:
            ids = rows[made_up.int % len(rows)]
            case.path_parameters[name] = str(ids.get(name, made_up))


def _uuid(value: object) -> uuid.UUID | None:
    try:
        return uuid.UUID(str(value))
    except ValueError:
        return None


__all__ = ["MODES", "FailureGroup", "attempt", "operations"]
