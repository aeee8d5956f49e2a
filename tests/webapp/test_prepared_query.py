"""A query that is written once answers as the query that Django writes each time."""

import uuid
from typing import Any

import pytest
from django.db.models import Q, QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from webapp.prepared_query import PreparedQuery
from webapp.projects.models import Project


def named(project_id: uuid.UUID, name: str) -> QuerySet[Any, tuple[Any, ...]]:
    """A value that stands twice, one that stands once, and a constant."""
    by_id = Q(id=project_id) | Q(name__in=("a constant",), id=project_id)
    found = Project.objects.filter(by_id, name=name)
    return found.values_list("id", "name", "created_at", "open_to_all")


@pytest.fixture
def query() -> PreparedQuery:
    return PreparedQuery(named, project_id=uuid.UUID, name=str)


def test_it_answers_as_the_query_itself_whatever_the_values(query: PreparedQuery) -> None:
    projects = [Project.objects.create(name=name) for name in ("one", "two", "%s", "' OR 1 = 1 --")]
    for project in projects:
        assert query.first(project_id=project.id, name=project.name) == named(project.id, project.name).first()
        assert query.first(project_id=project.id, name="another") is None
    assert query.first(project_id=uuid.uuid4(), name="one") is None


def test_it_gives_pythons_values(query: PreparedQuery) -> None:
    project = Project.objects.create(name="one")
    row = query.first(project_id=project.id, name="one")
    assert row is not None
    assert row == (project.id, "one", project.created_at, False)
    assert isinstance(row[0], uuid.UUID)
    assert timezone.is_aware(row[2])


def test_it_is_written_once(query: PreparedQuery, django_assert_num_queries: Any) -> None:
    project = Project.objects.create(name="one")
    with django_assert_num_queries(3) as asked:
        for name in ("one", "two", "three"):
            query.first(project_id=project.id, name=name)
    assert isinstance(asked, CaptureQueriesContext)
    written = {each["sql"].replace(name, "") for each, name in zip(asked, ("one", "two", "three"), strict=True)}
    assert len(written) == 1


def test_a_value_that_is_missing_is_an_error(query: PreparedQuery) -> None:
    with pytest.raises(KeyError):
        query.first(name="one")
