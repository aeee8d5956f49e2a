"""The application as a whole: its system checks; warnings as records of the log."""

import logging

from django.apps import AppConfig
from django.conf import settings

from webapp import logs


class WebappConfig(AppConfig):
    """Registers the system checks; with logs of JSON, warnings become records too."""

    name = "webapp"

    def ready(self) -> None:
        from webapp import checks  # noqa: F401  registers them

        if settings.LOG_FORMAT == logs.JSON:
            logging.captureWarnings(True)
