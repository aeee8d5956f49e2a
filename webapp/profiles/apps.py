"""Profiles: op times that a worker measures by running a graph."""

from django.apps import AppConfig


class ProfilesConfig(AppConfig):
    """The app `profiles`."""

    name = "webapp.profiles"
    label = "profiles"
