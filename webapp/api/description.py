"""What ninja leaves out of the OpenAPI document: tokens, and the errors that each operation may answer."""

from http import HTTPStatus
from typing import Any

from webapp.api.answers import ErrorOut
from webapp.api.once import MAKING, WORDS

ALWAYS = (
    *(HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    *(HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE),
)
OF_A_ROW = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
WITH_A_BODY = (HTTPStatus.REQUEST_TIMEOUT,)
ONCE = (HTTPStatus.CONFLICT,)
"""of an operation with a key: it came with another body"""
TOKEN = {"type": "http", "scheme": "bearer", "description": "`plx_…`; without accounts no token is needed."}


def described(document: dict[str, Any]) -> dict[str, Any]:
    """The document with what is missing."""
    components = document["components"]
    schema = ErrorOut.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"] |= {**schema.pop("$defs"), "ErrorOut": schema}
    components["securitySchemes"] = {"token": TOKEN}
    document["security"] = [{"token": []}, {}]
    for address, operations in document["paths"].items():
        for operation in operations.values():
            is_once = operation["operationId"] in MAKING
            operation["parameters"] += [WORDS] * is_once
            operation["responses"] |= _errors(address, operation, is_once=is_once)
    return document


def _errors(address: str, operation: dict[str, Any], *, is_once: bool) -> dict[int, Any]:
    statuses = {
        *ALWAYS,
        *(ONCE * is_once),
        *(OF_A_ROW * ("{" in address)),
        *(WITH_A_BODY * ("requestBody" in operation)),
    }
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}
    return {int(status): {"description": status.phrase, "content": content} for status in sorted(statuses)}
