"""The form of the logs, text or JSON, and what they leave out.

A record of JSON is one line, its traceback included: time, level, logger, process, message, exception.
"""

import logging
import re
from http import HTTPStatus
from typing import Any

from pythonjsonlogger.core import RESERVED_ATTRS

TEXT, JSON = "text", "json"
_FORMATTERS: dict[str, dict[str, Any]] = {
    TEXT: {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
    JSON: {
        "()": "pythonjsonlogger.json.JsonFormatter",
        "fmt": "%(levelname)s %(name)s %(process)d %(message)s",
        "timestamp": "time",
        "rename_fields": {"levelname": "level", "name": "logger", "exc_info": "exception"},
        "reserved_attrs": [*RESERVED_ATTRS, "color_message", "taskName"],
    },
}
SECRET_ADDRESS = re.compile(r"(/shared/)[^/?\s\"']+")
_ROOT_ALONE: dict[str, Any] = {"handlers": [], "propagate": True}
"""for loggers whose library gives them handlers of their own"""


def logging_settings(log_format: str, level: str) -> dict[str, Any]:
    """Django's LOGGING for the web server, workers and commands alike."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"record": _FORMATTERS[log_format]},
        "filters": {
            "no_user_mistakes": {"()": "webapp.logs.NoUserMistakes"},
            "no_tokens": {"()": "webapp.logs.NoTokens"},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "record", "filters": ["no_tokens"]}},
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


class NoTokens(logging.Filter):
    """Replaces the tokens of secret links, which are part of their addresses."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True: every record is logged."""
        message = record.getMessage()
        if SECRET_ADDRESS.search(message):
            record.msg, record.args = SECRET_ADDRESS.sub(r"\1…", message), None
        return True
