"""What ninja leaves out of the OpenAPI document: the errors that each operation may answer."""

from http import HTTPStatus
from typing import Any

from webapp.api.answers import ErrorOut

ALWAYS = (
    *(HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN),
    *(HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE),
)
OF_A_ROW = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
WITH_A_BODY = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
METHODS = ("get", "post", "put", "patch", "delete")


def described(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the errors of each operation."""
    schemas = document["components"]["schemas"]
    schema = ErrorOut.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= {**schema.pop("$defs"), "ErrorOut": schema}
    for address, operations in document["paths"].items():
        for method in METHODS:
            if method in operations:
                operations[method]["responses"] |= _errors(address, operations[method])
    return document


def _errors(address: str, operation: dict[str, Any]) -> dict[int, Any]:
    of_a_row = OF_A_ROW if "{" in address else ()
    statuses = (*ALWAYS, *of_a_row, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, *WITH_A_BODY * ("requestBody" in operation))
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorOut"}}}
    return {int(status): {"description": status.phrase, "content": content} for status in sorted(set(statuses))}
