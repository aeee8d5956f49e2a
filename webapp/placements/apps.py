"""Placements that people keep."""

from django.apps import AppConfig


class PlacementsConfig(AppConfig):
    """The app `placements`."""

    name = "webapp.placements"
    label = "placements"
