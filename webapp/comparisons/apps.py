"""Comparisons: several methods on one graph and cluster."""

from django.apps import AppConfig


class ComparisonsConfig(AppConfig):
    """The app `comparisons`."""

    name = "webapp.comparisons"
    label = "comparisons"
