"""Projects: graphs and runs that belong together."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    """The app `projects`; gives projects without a member to an operator."""

    name = "webapp.projects"
    label = "projects"

    def ready(self) -> None:
        from webapp.projects import adopting  # noqa: F401  connects its receiver
