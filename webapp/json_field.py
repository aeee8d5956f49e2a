"""A field of JSON stored as ASCII text, so that databases take any untrusted text (PostgreSQL's jsonb refuses NUL)."""

import json
from typing import TYPE_CHECKING

from django.db import models

from engine.api import Json

if TYPE_CHECKING:
    TextField = models.TextField[Json, Json]
else:
    TextField = models.TextField  # generic for the type checker only


def to_text(value: Json) -> str:
    """Compact ASCII JSON; raises ValueError for NaN and infinities."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


class JsonTextField(TextField):
    """A text column whose value in Python is JSON."""

    def from_db_value(self, value: str | None, *_: object) -> Json:
        return None if value is None else json.loads(value)

    def get_prep_value(self, value: Json) -> str | None:
        return None if value is None else to_text(value)
