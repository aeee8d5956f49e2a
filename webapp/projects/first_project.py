"""The project of uploads that name none."""

from webapp.accounts.visitor import acting
from webapp.projects.access import editable_by
from webapp.projects.models import Project

NAME = "My graphs"


def project_for_uploads() -> Project:
    """The newest project of that name in which the visitor may add; a new one, not stored yet, if there is none."""
    return editable_by(acting()).filter(name=NAME).first() or Project(name=NAME)
