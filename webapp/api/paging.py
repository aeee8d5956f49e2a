"""Lists of the API, newest first, a page at a time: `?limit=` rows after the cursor `?after=`."""

import base64
import binascii
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from django.db.models import Q, QuerySet
from pydantic import BaseModel, Field

from webapp.api.refusals import RefusedError

USUAL_LIMIT, MOST_ROWS = 50, 200
LONGEST_CURSOR = 200
NO_CURSOR = "This is no cursor of this list; allowed: what `next` said, or none."

Item = TypeVar("Item")


class PageQuery(BaseModel):
    """Which rows."""

    limit: int = Field(USUAL_LIMIT, ge=1, le=MOST_ROWS, description="How many rows.")
    after: str = Field("", max_length=LONGEST_CURSOR, description="The `next` of the page before; empty: the first.")


class PageOut(BaseModel, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next: str | None = Field(description="The cursor of the next page; null: this is the last.")


def page_of_rows(
    rows: QuerySet[Any, Any], query: PageQuery, out: Callable[[Any], Item]
) -> dict[str, list[Item] | str | None]:
    """The page of `rows`, which have `created_at` and `id`, as `out` shows them. Raises RefusedError for no cursor."""
    if query.after:
        created_at, row_id = _read(query.after)
        rows = rows.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, id__lt=row_id))
    found = list(rows.order_by("-created_at", "-id")[: query.limit + 1])
    shown = found[: query.limit]
    following = _cursor(shown[-1]) if len(found) > query.limit else None
    items = [out(row) for row in shown]
    return {"items": items, "next": following}


def _cursor(row: Any) -> str:
    return base64.urlsafe_b64encode(f"{row.created_at.isoformat()} {row.id}".encode()).decode()


def _read(cursor: str) -> tuple[datetime, uuid.UUID]:
    try:
        created_at, _, row_id = base64.urlsafe_b64decode(cursor.encode("ascii")).decode("ascii").partition(" ")
        at = datetime.fromisoformat(created_at)
        if at.tzinfo is None:
            raise ValueError("a time without a zone")
        return at.astimezone(UTC), uuid.UUID(row_id)
    except (ValueError, OverflowError, binascii.Error):
        raise RefusedError(HTTPStatus.BAD_REQUEST, {"after": [NO_CURSOR]}) from None
