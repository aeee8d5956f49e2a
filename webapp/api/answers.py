"""What operations answer: the schema of errors, rows that were made, and what of documents is no JSON."""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.http import HttpResponse
from django.urls import reverse
from ninja import Status
from pydantic import BaseModel, Field, JsonValue

from webapp.http.api_errors import BAD_REQUEST, CODES

CREATED, ACCEPTED, NOTHING = 201, 202, 204


def one_of(words: Iterable[str]) -> dict[str, JsonValue]:
    """`json_schema_extra` of a text that is one of a few words."""
    return {"enum": [*sorted(words)]}


class ErrorWords(BaseModel):
    """What is wrong."""

    code: str = Field(json_schema_extra=one_of({BAD_REQUEST, *CODES.values()}))
    message: str = Field(description="One sentence: what, where, what is allowed.")
    field: str | None = Field(description="The field of the body or of the address; null: none in particular.")


class ErrorOut(BaseModel):
    """The answer to every request that fails."""

    error: ErrorWords


Out = TypeVar("Out", bound=BaseModel)


def out_of(schema: type[Out], row: object, **more: Any) -> Out:
    """The answer of a row: its columns by the names of the schema, and what `more` says."""
    return schema(**{name: getattr(row, name) for name in schema.model_fields if name not in more}, **more)


def begun(response: HttpResponse, operation: str, row_id: object, out: Any, status: int = ACCEPTED) -> Status[Any]:
    """202 and the row whose work has begun; `Location` is its address, that of the operation of this name."""
    response["Location"] = reverse(f"api:{operation}", args=[row_id])
    return Status(status, out)


def binary(*content_types: str) -> dict[str, Any]:
    """`openapi_extra` of an operation whose answer is a file."""
    return {"responses": {200: {"content": {each: {"schema": {"format": "binary"}} for each in content_types}}}}
