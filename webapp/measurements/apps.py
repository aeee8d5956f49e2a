"""Measurements: step times of placements on this machine, beside their simulation."""

from django.apps import AppConfig


class MeasurementsConfig(AppConfig):
    """The app `measurements`."""

    name = "webapp.measurements"
    label = "measurements"
