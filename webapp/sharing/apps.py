"""Secret links that open one run or comparison."""

from django.apps import AppConfig


class SharingConfig(AppConfig):
    """The app `sharing`."""

    name = "webapp.sharing"
    label = "sharing"
