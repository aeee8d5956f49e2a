"""Uploads in parts."""

from django.apps import AppConfig


class UploadsConfig(AppConfig):
    """The app `uploads`."""

    name = "webapp.uploads"
    label = "uploads"
