"""Calibrations: measurements of this machine, which runs are then placed on."""

from django.apps import AppConfig


class CalibrationsConfig(AppConfig):
    """The app `calibrations`."""

    name = "webapp.calibrations"
    label = "calibrations"
