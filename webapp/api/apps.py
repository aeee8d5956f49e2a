"""The API for scripts."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The app `api`."""

    name = "webapp.api"
    label = "api"
