"""Graphs: uploaded or built, read by a worker."""

from django.apps import AppConfig


class GraphsConfig(AppConfig):
    """The app `graphs`."""

    name = "webapp.graphs"
    label = "graphs"
