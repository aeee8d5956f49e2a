"""Profiles, measurements of placements, and calibrations: what is measured on a worker's machine."""

from django.apps import AppConfig


class MeasuringConfig(AppConfig):
    """The app `measuring`."""

    name = "webapp.measuring"
    label = "measuring"
