"""Projects: graphs and runs that belong together."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """The app `projects`."""

    name = "webapp.projects"
    label = "projects"
