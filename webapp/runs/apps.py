"""Runs: one placer on one graph and cluster."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """The app `runs`."""

    name = "webapp.runs"
    label = "runs"
