"""What the logs leave out."""

import logging
from http import HTTPStatus


class NoUserMistakes(logging.Filter):
    """Leaves out Django's line on a 400: `user_errors` logs its reason, and the access log has the request."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it."""
        return getattr(record, "status_code", None) != HTTPStatus.BAD_REQUEST
