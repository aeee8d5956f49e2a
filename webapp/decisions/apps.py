"""The policies that runs keep, to show their decisions."""

from django.apps import AppConfig


class DecisionsConfig(AppConfig):
    """The app `decisions`."""

    name = "webapp.decisions"
    label = "decisions"
