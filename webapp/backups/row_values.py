"""What a value of a row may be: what the column takes, and what the forms and the jobs write there."""

import json
import math
from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models

from engine import api
from webapp.backups.schema import TableModel
from webapp.hooks.events import EVENTS, TEST
from webapp.hooks.models import Webhook
from webapp.jobs.job import Job
from webapp.jobs.models import Event
from webapp.json_field import JsonTextField
from webapp.placements.models import Placement
from webapp.policies.models import Policy

LONGEST_VALUE_BYTES = 4 * 10**9 // 3
"""of a text or of bytes in base64: both databases hold values of up to 10⁹ bytes"""
SHARE_OF_MEMORY = 0.125
"""that a line may take: reading it takes about five times as much"""
MOST_BYTES_OF_SHORT = 64
"""of a number, an id or a time, with the characters around it"""
MOST_BYTES_OF_CHARACTER = 12
"""two escapes"""

Allowed = Callable[[Any], bool]


def most_line_bytes(fields: list[Any]) -> int:
    """The longest line that rows with these columns may have."""
    longest = 2
    for field in fields:
        if isinstance(field, models.CharField):
            longest += MOST_BYTES_OF_CHARACTER * (field.max_length or 0) + MOST_BYTES_OF_SHORT
        elif isinstance(field, models.TextField | models.BinaryField):
            longest += int(min(LONGEST_VALUE_BYTES, SHARE_OF_MEMORY * api.machine_memory_bytes()))
        else:
            longest += MOST_BYTES_OF_SHORT
    return longest


def require_allowed(table: TableModel, field: Any, kind: type, value: Any) -> None:
    """Raise ValueError for a value that the application would never have stored in this column."""
    if value is None:
        if not field.null:
            raise ValueError("a value")
        return
    expected = _type_of(kind)
    if expected is not None and (not isinstance(value, expected) or isinstance(value, bool) != (expected is bool)):
        raise ValueError(f"a value of type {kind.__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a finite number")
    if isinstance(value, str) and not issubclass(kind, models.BinaryField):
        _require_text(value)
    if field.remote_field is None:
        try:
            field.run_validators(value)
        except ValidationError as error:
            raise ValueError(" ".join(error.messages)) from None
    words, allowed = _rule(table._meta.label_lower, field.column)
    if allowed is not None and not allowed(value):
        raise ValueError(words)


def _type_of(kind: type) -> Any:
    """The type of a column's values in JSON; None: any JSON, or what is converted and so checked anyway."""
    for field, expected in (
        (JsonTextField, None),
        (models.BooleanField, bool),
        (models.CharField, str),
        (models.TextField, str),
        (models.IntegerField, int),
        (models.FloatField, (int, float)),
    ):
        if issubclass(kind, field):
            return expected
    return None


def _require_text(value: str) -> None:
    if "\0" in value:
        raise ValueError("a text without NUL")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("a text without half characters") from None


def _rule(label: str, column: str) -> tuple[str, Allowed | None]:
    """What is allowed beyond the column's type, in words and as a test."""
    if column == "status" and (statuses := _statuses(label)):
        return "one of " + ", ".join(statuses), statuses.__contains__
    return _RULES.get((label, column), ("", None))


def _statuses(label: str) -> tuple[str, ...]:
    """The statuses of a kind of job; none for another table, also of one that this version has no more."""
    try:
        model = apps.get_model(label)
    except LookupError:
        return ()
    if not issubclass(model, Job):
        return ()
    own = (getattr(model, name, None) for name in ("DONE", "READY"))
    return (model.QUEUED, model.WORKING, *filter(None, own), model.FAILED, model.CANCELLED)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


_JSON = ("the text of a JSON object", _is_json)
_RULES: dict[tuple[str, str], tuple[str, Allowed]] = {
    ("graphs.graph", "suffix"): ("one of " + ", ".join(api.FORMATS), api.FORMATS.__contains__),
    ("graphs.preparedblob", "view"): _JSON,
    (Event._meta.label_lower, "data"): _JSON,
    ("runs.event", "data"): _JSON,
    ("policies.policyevent", "data"): _JSON,
    ("policies.policy", "source"): ("one of " + ", ".join(Policy.SOURCES), Policy.SOURCES.__contains__),
    ("hooks.webhook", "kind"): ("one of " + ", ".join(Webhook.KINDS), Webhook.KINDS.__contains__),
    ("hooks.delivery", "event"): ("an event of webhooks", {*EVENTS, TEST}.__contains__),
    ("hooks.delivery", "body"): _JSON,
    ("placements.placement", "origin"): ("one of " + ", ".join(Placement.ORIGINS), Placement.ORIGINS.__contains__),
}
"""(table, column) → what is allowed there; the table may be one of an earlier version"""
