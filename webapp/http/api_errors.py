"""The one format of errors below the address of the API."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus

ADDRESS = "/api/"

CODES = {
    HTTPStatus.UNAUTHORIZED: "unauthorized",
    HTTPStatus.FORBIDDEN: "forbidden",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.CONFLICT: "conflict",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "too_large",
    HTTPStatus.UNPROCESSABLE_ENTITY: "unprocessable",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limited",
    HTTPStatus.INTERNAL_SERVER_ERROR: "internal",
    HTTPStatus.SERVICE_UNAVAILABLE: "unavailable",
}
BAD_REQUEST = "bad_request"
"""the code of every other status"""


def is_api(path: str) -> bool:
    """Whether the address belongs to the API."""
    return path.startswith(ADDRESS)


def api_error(status: int, errors: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """The body of an error: the sentences of the first field; the empty field is none."""
    field, sentences = next(iter(errors.items()), ("", ()))
    code = CODES.get(HTTPStatus(status), BAD_REQUEST)
    return {"error": {"code": code, "message": " ".join(sentences), "field": field or None}}
