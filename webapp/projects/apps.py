"""Projects: what belongs together."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """The app `projects`."""

    name = "webapp.projects"
    label = "projects"
