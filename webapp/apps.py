"""The application as a whole: its system checks."""

from django.apps import AppConfig


class WebappConfig(AppConfig):
    """Registers the system checks."""

    name = "webapp"

    def ready(self) -> None:
        from webapp import checks  # noqa: F401  registers them
