"""Jobs: what workers do for rows, without losing or doubling it."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """The app `jobs`."""

    name = "webapp.jobs"
    label = "jobs"
