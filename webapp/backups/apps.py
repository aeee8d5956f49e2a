"""Backups: all rows and files in one archive, and back."""

from django.apps import AppConfig


class BackupsConfig(AppConfig):
    """The app `backups`."""

    name = "webapp.backups"
    label = "backups"
