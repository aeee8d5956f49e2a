"""The project of uploads that name none."""

from webapp.projects.models import Project

NAME = "My graphs"


def project_for_uploads() -> Project:
    """The newest project of that name; a new one, not stored yet, if there is none."""
    return Project.objects.filter(name=NAME).first() or Project(name=NAME)
