"""Jobs: work on rows that is neither lost nor done twice."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """The app `jobs`."""

    name = "webapp.jobs"
    label = "jobs"
