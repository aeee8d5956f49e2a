"""The form of the logs, text or JSON, and what they leave out.

A record of JSON is one line, its traceback included: time, level, logger, process, message, exception.
"""

import logging
import re
from http import HTTPStatus
from typing import Any

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

TEXT, JSON = "text", "json"
_FORMATTERS: dict[str, dict[str, Any]] = {
    TEXT: {"()": "webapp.logs.TextLines", "fmt": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
    JSON: {
        "()": "webapp.logs.JsonLines",
        "fmt": "%(levelname)s %(name)s %(process)d %(message)s",
        "timestamp": "time",
        "rename_fields": {"levelname": "level", "name": "logger", "exc_info": "exception"},
        "reserved_attrs": [*RESERVED_ATTRS, "color_message", "request", "taskName"],
    },
}
SECRET_ADDRESS = re.compile(r"(/shared/|/accounts/password/[^/?\s\"']+/)[^/?\s\"']+")
_ROOT_ALONE: dict[str, Any] = {"handlers": [], "propagate": True}
"""for loggers whose library gives them handlers of their own"""


def logging_settings(log_format: str, level: str) -> dict[str, Any]:
    """Django's LOGGING for the web server, workers and commands alike."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"record": dict(_FORMATTERS[log_format])},  # `dictConfig` takes it apart
        "filters": {"no_user_mistakes": {"()": "webapp.logs.NoUserMistakes"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "record"}},
        "loggers": {
            "django": _ROOT_ALONE,
            "django.security": {"level": "CRITICAL"},  # `user_errors` logs the same in one line
            "django.request": {"filters": ["no_user_mistakes"]},
            "uvicorn": _ROOT_ALONE,
            "uvicorn.access": _ROOT_ALONE,
        },
        "root": {"handlers": ["stderr"], "level": level},
    }


class NoUserMistakes(logging.Filter):
    """Leaves out Django's line on a 400: `user_errors` logs its reason, and the access log has the request."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it."""
        return getattr(record, "status_code", None) != HTTPStatus.BAD_REQUEST


def without_tokens(text: str) -> str:
    """`text` without the tokens of links that show something or set a password, which are part of their addresses."""
    return SECRET_ADDRESS.sub(r"\1…", text)


class TextLines(logging.Formatter):
    """Records as text, tracebacks included, without tokens."""

    def format(self, record: logging.LogRecord) -> str:
        """The whole text of the record."""
        return without_tokens(super().format(record))


class JsonLines(JsonFormatter):
    """Records as a line of JSON each, without tokens."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of the record."""
        return without_tokens(super().format(record))
